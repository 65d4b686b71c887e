"""Starting the demo's programs as their users do."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(**changes: str) -> dict[str, str]:
    """This process's, without what the tests' settings put into it."""
    inherited = {name: value for name, value in os.environ.items() if name != "HTTPS"}
    return inherited | {"DJANGO_SETTINGS_MODULE": "claims_demo.settings"} | changes
