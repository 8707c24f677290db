"""The page, the table and the code tell the same failures."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector import errors
from tests.errors.cause import Cause, End
from tests.errors.page import PAGE, page
from tests.errors.strings import strings_of
from tests.errors.texts import CAUSES, GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
KINDS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.ConnectorError)
}
# What these say is of other commands, or about bytes: `event.damaged` has it as {why}.
OTHERS = {
    "binlog",
    "dump",
    "flashback",
    "gtid",
    "reader",
    "stat",
    "payload.py",
    "spark_source.py",
    "compiled.py",
}
OTHER_COMMANDS = {
    "demo.py",
    "dump.py",
    "flashback.py",
    "log_commands.py",
    "log_files.py",
    "log_options.py",
    "stat.py",
}
# All of these are run through by tests/source/server/test_server_errors.py.
NUMBERED = re.compile(r"server\.\d+")
# Nobody is told: {place} and {why} of others, and what is caught where it is raised.
INNER = {
    "connector/errors/kinds.py",
    "connector/contract/sequence.py",
    "connector/wire/semi_sync.py",
    # A replay stops at such a record, which was written from rows.
    "{}:{}: {} holds no rows",
    # Of `dump`, which alone asks for it.
    (
        "{}: semi-synchronous replication is off: SET GLOBAL rpl_semi_sync_master_enabled = ON on "
        "MariaDB; on MySQL INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so' and SET "
        "GLOBAL rpl_semi_sync_source_enabled = ON"
    ),
}


def test_the_page_is_as_the_table() -> None:
    assert PAGE.read_text() == page(), "run `make errors-page`"


def test_keys_differ_and_so_do_texts() -> None:
    causes = [cause for group in GROUPS for cause in group.causes]
    assert len(CAUSES) == len(causes)


@pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda cause: cause.key)
def test_a_failure_that_ends_a_command_says_what_to_do(cause: Cause) -> None:
    whole = {"start.word", "failover.none"}  # these say it in what is wrong, or line by line
    assert cause.fix or cause.end in (End.RETRIED, End.LOGGED) or cause.key in whole


def test_each_text_is_compared_with_what_is_said() -> None:
    """A test names the key of the cause, or has the whole text with values in it."""
    asked: set[str] = set()
    whole: list[str] = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        if path != Path(__file__):
            strings = list(strings_of(ast.parse(path.read_text())))
            asked.update(strings)
            whole += [string.strip().removeprefix("error: ") for string in strings if " " in string]
    missing = [
        cause.key
        for cause in CAUSES.values()
        if cause.key not in asked
        and not NUMBERED.fullmatch(cause.key)
        and not any(map(cause.pattern().fullmatch, whole))
    ]
    assert not missing, missing


def test_each_text_of_the_code_is_in_the_table() -> None:
    missing = [
        f"{place}: {template}"
        for place, template in templates()
        if not any(holds(cause, template) for cause in CAUSES.values())
    ]
    assert not missing, missing


def holds(cause: Cause, template: str) -> bool:
    """Return whether what is fixed in a template stands in the text of a cause, in its order."""
    # A place is one placeholder there, and FILE:POSITION here.
    fixed = [part.strip(":( ") for part in template.split("{}")]
    words = [re.escape(part) for part in fixed if re.search("[a-z]", part)]
    shown = cause.text.replace("{{", "{").replace("}}", "}")
    return re.search(".*".join(words), shown, re.DOTALL) is not None


def templates() -> Iterator[tuple[str, str]]:
    """Yield the texts that errors are made of, with `{}` for what differs, and where."""
    for path in sorted((ROOT / "connector").rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[1] in OTHERS or place.name in OTHER_COMMANDS or str(place) in INNER:
            continue
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                for line, template in _of_function(function):
                    if template not in INNER:
                        yield f"{place}:{line}", template


def _of_function(function: ast.FunctionDef) -> Iterator[tuple[int, str]]:
    """Yield what is given to the errors that a function makes, by itself or by a name."""
    named: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named.setdefault(node.targets[0].id, []).append(node.value)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            given = node.args[0]
            if node.func.id in KINDS:
                values = named.get(given.id, []) if isinstance(given, ast.Name) else [given]
                for value in values:
                    template = _template(value)
                    if template is not None:
                        yield value.lineno, template


def _template(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
        return "".join(parts)
    return None
