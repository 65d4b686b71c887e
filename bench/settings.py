"""The project's settings, with the baselines' tables and the null view added."""

import os

from claims_demo.settings import *  # noqa: F403
from claims_demo.settings import INSTALLED_APPS as PROJECT_APPS
from claims_demo.settings import LOGGING as PROJECT_LOGGING

INSTALLED_APPS = [*PROJECT_APPS, "bench"]
ROOT_URLCONF = "bench.urls"
LOGGING = PROJECT_LOGGING
BUDGET_NEWEST_FIRST_AFTER = float(os.environ.get("NEWEST_FIRST_AFTER", "0.5"))
