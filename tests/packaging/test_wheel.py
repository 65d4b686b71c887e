"""The wheel in a bare Django project, set up as the README says."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from tests.claims_demo.programs import environment
from tests.docs.blocks import ROOT, readme_block

pytestmark = [pytest.mark.processes, pytest.mark.django_db]

SETTINGS = """
BARE = INSTALLED_APPS, MIDDLEWARE
{readme}
INSTALLED_APPS = [*BARE[0], "django.contrib.postgres", *INSTALLED_APPS]
MIDDLEWARE = [
    *MIDDLEWARE[:3],
    *(name for name in BARE[1] if name not in MIDDLEWARE),
    *MIDDLEWARE[3:],
]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.postgresql", **{database!r}}}}}
STATIC_ROOT = BASE_DIR / "static"
"""
ADMIT = """
from pathlib import Path
import budget
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client
from budget.models import ApiKey

assert Path(budget.__file__).is_relative_to({site!r}), budget.__file__
settings.ALLOWED_HOSTS = ["testserver"]
key = ApiKey.objects.create_key(name="bare", all_classes=True, all_pools=True)[1]
answer = Client().post(
    "/api/v1/admissions",
    {{"pool": "claims", "workload_class": "adjuster", "input_tokens": 9, "output_tokens": 3}},
    content_type="application/json",
    headers={{"Authorization": f"Api-Key {{key}}"}},
)
docs = Client().get("/api/docs/")
print(answer.status_code, docs.status_code, bool(finders.find("budget/admin.css")))
"""


@dataclass
class Project:
    """A Django project with the wheel beside it."""

    directory: Path
    site: Path

    def run(self, *arguments: str) -> str:
        """What the command line printed; it must succeed."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.directory,
            env=environment(
                PYTHONPATH=str(self.site), DJANGO_SETTINGS_MODULE="bare.settings", DEBUG=""
            ),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def configure(self, database: dict[str, str]) -> None:
        """Adds what the README says to what Django made."""
        settings = self.directory / "bare" / "settings.py"
        added = SETTINGS.format(readme=readme_block("INSTALLED_APPS"), database=database)
        settings.write_text(settings.read_text() + added)
        (self.directory / "bare" / "urls.py").write_text(readme_block("# urls.py"))


@pytest.fixture
def project(wheel: zipfile.ZipFile, tmp_path: Path) -> Project:
    """Made by Django, with the wheel unpacked as pip does."""
    made = Project(tmp_path / "project", tmp_path / "site")
    made.directory.mkdir()
    wheel.extractall(made.site)
    subprocess.run(
        [sys.executable, "-m", "django", "startproject", "bare", made.directory], check=True
    )
    return made


@pytest.fixture
def database() -> Iterator[dict[str, str]]:
    """A new database on the tests' server, as settings name it."""
    server = connection.settings_dict
    place = {name: server[name] for name in ("USER", "PASSWORD", "HOST", "PORT")}
    name = sql.Identifier(f"bare_{uuid4().hex}")
    with psycopg.connect(
        host=server["HOST"],
        port=server["PORT"] or None,
        user=server["USER"],
        password=server["PASSWORD"] or None,
        dbname=server["NAME"],
        autocommit=True,
    ) as maker:
        maker.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield {"NAME": name.as_string().strip('"'), **place}
        maker.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def test_everything_of_the_app_and_nothing_else_is_in_it(wheel: zipfile.ZipFile) -> None:
    packed = {Path(name) for name in wheel.namelist()}
    sources = {
        path.relative_to(ROOT) for path in (ROOT / "budget").rglob("*") if path.suffix != ".pyc"
    }
    templates = {
        Path("budget") / path.relative_to(ROOT) for path in (ROOT / "templates/budget").rglob("*")
    }
    expected = {path for path in sources | templates if path.suffix}
    assert {path for path in packed if path.parts[0] == "budget"} == expected
    assert {path.parts[0] for path in packed} == {"budget", "token_budget-0.1.0.dist-info"}


@pytest.mark.timeout(180)
def test_a_bare_project_migrates_and_admits(project: Project, database: dict[str, str]) -> None:
    project.configure(database)

    assert "no issues" in project.run("manage.py", "check", "--database", "default")
    project.run("manage.py", "migrate", "-v", "0")
    project.run("manage.py", "load_policy", str(ROOT / "claims_demo" / "policy.yaml"))
    told = project.run("manage.py", "shell", "-v", "0", "-c", ADMIT.format(site=str(project.site)))
    assert told.split() == ["201", "200", "True"]


def test_a_bare_project_on_another_engine_is_refused(project: Project) -> None:
    project.configure({})
    settings = project.directory / "bare" / "settings.py"
    settings.write_text(
        settings.read_text().replace("backends.postgresql", "backends.sqlite3")
        + 'DATABASES["default"]["NAME"] = BASE_DIR / "db.sqlite3"\n'
    )

    with pytest.raises(AssertionError, match=r"budget\.E001"):
        project.run("manage.py", "check")
