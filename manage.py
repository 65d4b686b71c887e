#!/usr/bin/env python3
"""Django's command line for the claims demo project."""

import os
import sys

from django.core.management import execute_from_command_line

from claims_demo.database.errors import REFUSALS, in_words


def main() -> None:
    """Runs the command; a wrong configuration or database is said without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "claims_demo.settings")
    try:
        execute_from_command_line(sys.argv)
    except REFUSALS as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(in_words(error))


if __name__ == "__main__":
    main()
