"""`manage.py run_jobs`: what it says when it can't; tests/jobs runs it as a process."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command


def test_an_unknown_cluster_is_told_which_there_are() -> None:
    with pytest.raises(CommandError, match=r"no cluster 'adjuster'\. It has: near_line, bulk\."):
        call_command("run_jobs", "adjuster")


def test_without_django_q_it_says_what_to_add(settings: Any) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_q"]
    with pytest.raises(CommandError, match="add 'django_q' to INSTALLED_APPS"):
        call_command("run_jobs", "bulk")
