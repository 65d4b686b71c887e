"""The tests' settings for a cluster as a process of its own; its test says the rest."""

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.jobs"]
DATABASES["default"]["NAME"] = os.environ["CLUSTER_DATABASE"]
globals().update(json.loads(os.environ["CLUSTER_SETTINGS"]))
