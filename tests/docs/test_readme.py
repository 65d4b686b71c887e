"""What the documents show works."""

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from budget import conf
from tests.docs.blocks import ROOT, documents

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"python manage\.py ([^\n|>`]+)")
WRITTEN = re.compile(r"python manage\.py dump_policy > (\S+)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
TARGET = re.compile(r"(?:^|`)make ([a-z]+(?: [a-z]+)*)((?: [A-Z]+=\S+)*)", re.MULTILINE)
VARIABLE = re.compile(r"^\| `([A-Z_]+)` \|", re.MULTILINE)


@pytest.mark.parametrize("code", documents("python"))
def test_python_compiles_and_imports_what_exists(code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module or "")
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.import_module(
                    f"{node.module}.{alias.name}"
                )


def shown(pattern: re.Pattern[str]) -> list[str]:
    return [match for path in DOCUMENTS for match in pattern.findall(path.read_text())]


@pytest.mark.parametrize("line", shown(COMMAND))
def test_management_commands_take_what_is_shown(line: str) -> None:
    name, *arguments = shlex.split(line)
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(arguments)
    for argument in arguments:
        if argument.endswith(".yaml"):
            assert argument in shown(WRITTEN) or (ROOT / argument).exists()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_management_commands_run_in_the_environment_that_make_makes(document: Path) -> None:
    assert not re.search(r"(?<!\.venv/bin/)python manage\.py", document.read_text())


@pytest.mark.parametrize("targets", {targets for targets, _ in shown(TARGET)})
def test_make_targets_exist(targets: str) -> None:
    made = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(targets.split()) <= set(made)


@pytest.mark.parametrize("variables", {variables for _, variables in shown(TARGET) if variables})
def test_make_variables_exist(variables: str) -> None:
    for assignment in variables.split():
        assert f"$({assignment.split('=')[0]})" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for link in LINK.findall(document.read_text()):
        assert not link.startswith("http"), "no document needs another host"
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        if anchor:
            assert anchor in map(_anchor, HEADING.findall(target.read_text())), link


def _anchor(heading: str) -> str:
    """What a heading is linked by."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_the_variables_are_those_that_are_read() -> None:
    sources = [path.read_text() for path in (ROOT / "claims_demo").rglob("*.py")]
    read = {
        name
        for source in sources
        for name in re.findall(r'(?:flag|pairs|words|environ\.get)\(\s*"([A-Z_]+)"', source)
    }
    assert set(shown(VARIABLE)) == read


def test_settings_that_are_named_exist() -> None:
    named = {f"BUDGET_{name}" for name in shown(re.compile(r"`BUDGET_([A-Z_]+)`"))}
    for name in named - set(shown(VARIABLE)):
        assert hasattr(conf, name.removeprefix("BUDGET_").lower())
