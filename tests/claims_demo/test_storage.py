"""Static files as they are served: named by their content, modules of modules included."""

import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import override_settings

from claims_demo.settings import STORAGES

HASHED = re.compile(r'from"?\s*"\./\w+\.[0-9a-f]{12}\.js"')
ANY = re.compile(r'from"?\s*"\./[^"]+"')


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    with override_settings(STORAGES=STORAGES, STATIC_ROOT=tmp_path):
        call_command("collectstatic", interactive=False, verbosity=0)
    return tmp_path


def test_modules_import_modules_by_the_names_that_change_with_them(collected: Path) -> None:
    modules = list(collected.glob("budget/dashboard/*.????????????.js"))
    assert len(modules) >= 10
    for module in modules:
        script = module.read_text()
        assert len(HASHED.findall(script)) == len(ANY.findall(script)), module.name
    board = next(module for module in modules if module.name.startswith("board."))
    assert len(ANY.findall(board.read_text())) >= 5
