"""`make check`: runs every check, also after one failed, and names those that did."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = {
    "format": ("-m", "ruff", "format", "--check", "."),
    "lint": ("-m", "ruff", "check", "."),
    "types": ("-m", "mypy"),
    "imports": ("-c", "from importlinter.cli import lint_imports_command as c; c()"),
    "migrations": ("manage.py", "makemigrations", "--check", "--dry-run"),
    "deploy": ("manage.py", "check", "--deploy", "--fail-level", "WARNING"),
}
PRODUCTION = {"DEBUG": "0", "HTTPS": "1"}


def main() -> int:
    """Exit code 1 if a check failed."""
    failed = []
    for name, arguments in CHECKS.items():
        print(f"-- {name}", flush=True)
        command = [sys.executable, *arguments]
        if subprocess.run(command, cwd=ROOT, env=os.environ | PRODUCTION, check=False).returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
