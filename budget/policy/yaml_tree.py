"""YAML with line numbers, and none of its surprises.

Aliases, tags, duplicate keys, deep nesting and huge files are refused before anything
is built. Scalars stay text until a field says what it wants, so `on`, `010` or `1:30`
never turn into something their author didn't write.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import yaml

MAX_BYTES = 256 * 1024
MAX_DEPTH = 12
NUMBER = re.compile(r"[-+]?[0-9][0-9_]{0,29}(\.[0-9]{1,9})?")


class Fault(NamedTuple):
    """Something wrong in a policy file, and where."""

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"line {self.line}, {self.field}" if self.field else f"line {self.line}"
        return f"{place}: {self.message}"


class PolicyFileError(Exception):
    """A policy file that can't be used; `faults` says why, in the order of lines."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = sorted(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class Tree(NamedTuple):
    """A YAML node with the path that leads to it."""

    node: yaml.Node
    path: str
    line: int
    """Where its name stands, from 1."""

    def under(self, name: str) -> "Tree":
        """The same place, seen as that of a name missing from it."""
        return self._replace(path=f"{self.path}.{name}".lstrip("."))

    def fault(self, message: str) -> PolicyFileError:
        """An error at this place."""
        return PolicyFileError([Fault(self.line, self.path, message)])

    def entries(self) -> Iterator[tuple[str, "Tree"]]:
        """Keys and values of a mapping; a missing value is an empty mapping."""
        if self.is_null:
            return
        if not isinstance(self.node, yaml.MappingNode):
            raise self.fault(f"Expected names with values, found {self._kind}.")
        for key, value in self.node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            yield name, Tree(value, f"{self.path}.{name}".lstrip("."), _line(key))

    def items(self) -> Iterator["Tree"]:
        """Members of a list; a missing value is an empty list."""
        if self.is_null:
            return
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.fault(f"Expected a list, found {self._kind}.")
        for position, value in enumerate(self.node.value):
            yield Tree(value, f"{self.path}[{position}]", _line(value))

    @property
    def is_null(self) -> bool:
        """Whether nothing, `~` or `null` is written here."""
        return isinstance(self.node, yaml.ScalarNode) and self.node.tag == "tag:yaml.org,2002:null"

    @property
    def is_mapping(self) -> bool:
        """Whether names with values stand here."""
        return isinstance(self.node, yaml.MappingNode)

    def text(self) -> str:
        """A word, as written."""
        if not isinstance(self.node, yaml.ScalarNode) or self.is_null:
            raise self.fault(f"Expected a word, found {self._kind}.")
        return str(self.node.value)

    def number(self) -> Decimal:
        """A plain decimal number; NaN, infinity and quoted text are none."""
        plain = isinstance(self.node, yaml.ScalarNode) and self.node.style is None
        if not plain or not NUMBER.fullmatch(self.node.value):
            raise self.fault(f"Expected a number such as 60, found {self._kind}.")
        return Decimal(self.node.value.replace("_", ""))

    def whole(self) -> int:
        """A whole number."""
        number = self.number()
        if number != number.to_integral_value():
            raise self.fault(f"Expected a whole number such as 60, found {number}.")
        return int(number)

    def flag(self) -> bool:
        """`true` or `false`."""
        words = {"true": True, "false": False}
        if not isinstance(self.node, yaml.ScalarNode) or self.node.value not in words:
            raise self.fault(f"Expected true or false, found {self._kind}.")
        return words[self.node.value]

    @property
    def _kind(self) -> str:
        if isinstance(self.node, yaml.MappingNode):
            return "names with values"
        if isinstance(self.node, yaml.SequenceNode):
            return "a list"
        return "nothing" if self.is_null else f"{self.node.value[:40]!r}"


def read_tree(data: bytes) -> Tree:
    """The root of a policy file.

    Raises `PolicyFileError` with the line for anything that isn't a small, plain YAML
    mapping with unique keys.
    """
    text = _decode(data)
    try:
        _refuse_surprises(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise PolicyFileError([_syntax_fault(error)]) from None
    if node is None or not isinstance(node, yaml.MappingNode):
        raise _at(1, "Expected `workload_classes:` and `pools:`, found no policy.")
    root = Tree(node, "", 1)
    duplicates = list(_duplicates(root))
    if duplicates:
        raise PolicyFileError(duplicates)
    return root


def _line(node: yaml.Node | yaml.Event) -> int:
    return node.start_mark.line + 1 if node.start_mark else 1


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise _at(1, f"The file has {len(data):,} bytes; a policy file has at most {MAX_BYTES:,}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _at(line, "Not UTF-8 text. Save the file as UTF-8.") from None


def _refuse_surprises(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = _line(event)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _at(line, f"Nested more than {MAX_DEPTH} deep. A policy never is.")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _at(line, "Anchors and aliases aren't used here. Write the value out.")
        tag = getattr(event, "tag", None)
        if tag:
            raise _at(line, f"Tags such as {tag} aren't used here. Leave it out.")


def _duplicates(tree: Tree) -> Iterator[Fault]:
    if isinstance(tree.node, yaml.SequenceNode):
        for item in tree.items():
            yield from _duplicates(item)
    elif tree.is_mapping:
        first: dict[str, int] = {}
        for name, value in tree.entries():
            if name in first:
                message = f"Given twice, first on line {first[name]}. Keep one of the two."
                yield Fault(value.line, value.path, message)
            first.setdefault(name, value.line)
            yield from _duplicates(value)


def _syntax_fault(error: yaml.YAMLError) -> Fault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return Fault(mark.line + 1 if mark else 1, "", f"Not valid YAML: {problem}.")


def _at(line: int, message: str) -> PolicyFileError:
    return PolicyFileError([Fault(line, "", message)])
