"""The tests' settings for a cluster as a process of its own; its test says the rest."""

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, INSTALLED_APPS, LOGGING

INSTALLED_APPS = [*INSTALLED_APPS, "tests.jobs"]
DATABASES["default"]["NAME"] = os.environ["CLUSTER_DATABASE"]
# Tests wait for what django-q says as it is up.
LOGGING["loggers"]["django-q"] = {"level": "INFO"}
globals().update(json.loads(os.environ["CLUSTER_SETTINGS"]))
