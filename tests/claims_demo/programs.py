"""Starting the demo's programs as their users do."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


NOT_THEIRS = {"HTTPS", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DEMO_ACCOUNT"}
"""What the tests' settings put into it, and what costs money."""


def environment(**changes: str) -> dict[str, str]:
    """This process's, but for what is not for programs that tests start."""
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_THEIRS}
    return inherited | {"DJANGO_SETTINGS_MODULE": "claims_demo.settings"} | changes
