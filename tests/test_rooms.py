"""The rooms of the packages: what lies in them, and that no modules know each other in a circle.

import-linter (`make lint`) looks at the order of the rooms; here are modules, with their types.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
LOOSE = {
    "connector": {"__init__.py", "__main__.py", "errors.py"},
    "stream_jobs": {
        "__init__.py",
        "__main__.py",
        "log_lines.py",
        "paths.py",
        "pipeline_folder.py",
        "settings.py",
    },
}

FLAT = ("verification", "local_stack")

# They parse all sources, which takes seconds: one worker does it once.
one_worker = pytest.mark.xdist_group("imports of modules")


def modules() -> dict[str, Path]:
    """Return the sources by the names of their modules."""
    found = {}
    for path in sorted(
        path for package in (*LOOSE, *FLAT) for path in (ROOT / package).rglob("*.py")
    ):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield statements and those in them, without the expressions, which are most of a tree."""
    for node in body:
        yield node
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            yield from statements(getattr(node, part, ()))


@cache
def imports() -> dict[str, set[str]]:
    """Return the modules that each module imports, also those under TYPE_CHECKING."""
    known = modules()
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        found = set()
        for node in statements(ast.parse(path.read_text("utf-8")).body):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                members = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= members | {node.module}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        graph[name] = {other for other in found if other in known and other != name}
        if path.name == "__init__.py":
            continue
        # The module is asked for, not the package that it is in.
        graph[name] -= {other for other in graph[name] if f"{name}.".startswith(f"{other}.")}
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return modules of which each imports the one before it, the first one twice; or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@one_worker
def test_no_modules_import_each_other_in_a_circle_not_even_for_types() -> None:
    assert circle(imports()) == []


@one_worker
def test_a_catalogue_of_errors_knows_only_what_an_error_is() -> None:
    """So each module may use the catalogue beside it, and `explain` loads all of them at once."""
    catalogues = {name: known for name, known in imports().items() if name.endswith("_errors")}
    assert catalogues
    foreign = {
        name: others
        for name, known in catalogues.items()
        if (others := {x for x in known if not f"{x}.".startswith("connector.foundation.errors.")})
    }
    assert foreign == {}


@one_worker
def test_no_folders_of_a_room_import_each_other_in_a_circle() -> None:
    """A folder may use modules of the room that it lies in, and the room those of its folders."""
    known = modules()
    folders: dict[str, set[str]] = {}
    for name, others in imports().items():
        folder = name if known[name].name == "__init__.py" else name.rpartition(".")[0]
        for other in others:
            there = other if known[other].name == "__init__.py" else other.rpartition(".")[0]
            nested = f"{folder}.".startswith(f"{there}.") or f"{there}.".startswith(f"{folder}.")
            if not nested and LOOSE.keys().isdisjoint((folder, there)):
                folders.setdefault(folder, set()).add(there)
    assert circle(folders) == []


@pytest.mark.parametrize("package", LOOSE)
def test_nothing_lies_in_a_package_itself_but_its_entry_points_and_its_contracts(
    package: str,
) -> None:
    assert {path.name for path in (ROOT / package).glob("*.py")} <= LOOSE[package]
