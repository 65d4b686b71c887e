#!/usr/bin/env python3
"""Django's command line for the claims demo project."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import NotSupportedError


def main() -> None:
    """Runs the command; a wrong configuration or database is said without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "claims_demo.settings")
    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, NotSupportedError) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
