"""Which tests differ by compilation, and which of them run on one worker.

A test differs by compilation if its file, or a helper in `tests` that it imports, imports a module
that is compiled, and if it runs without servers. All others run once, compiled.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from connector import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

PROJECT = Path(__file__).parents[1]
# The slowest first: the small ones at the end keep all workers busy to it.
SLOWEST_FIRST = ("spark", "kafka", "server")
# With the module that chooses between the two.
COMPILED = frozenset(
    {
        compiled.__name__,
        *(".".join(path.relative_to(PROJECT).with_suffix("").parts) for path in compiled.sources()),
    }
)


def differs_by_compilation(item: pytest.Item) -> bool:
    """Return whether the test has to pass interpreted as well as compiled."""
    needs_servers = any(item.get_closest_marker(name) for name in SLOWEST_FIRST)
    return not needs_servers and _imports_compiled(item.path)


def order(item: pytest.Item) -> int:
    """Return the place of the test's kind among all kinds, the slowest first."""
    places = [place for place, name in enumerate(SLOWEST_FIRST) if item.get_closest_marker(name)]
    return min(places, default=len(SLOWEST_FIRST))


def group(item: pytest.Function) -> str | None:
    """Return what all tests of one worker have in common, or None for a test that runs anywhere.

    Tests that share what a file or a folder starts once (a server, Spark) run on one worker: no
    other worker has to start it as well.
    """
    shared = [
        (fixture.scope, fixture.baseid)
        for fixtures in item._fixtureinfo.name2fixturedefs.values()
        for fixture in fixtures[-1:]
        if fixture.scope != "function" and fixture.baseid not in ("", "tests")
    ]
    folders = [base for scope, base in shared if scope != "module"]
    if folders:
        return min(folders)
    return item.path.relative_to(PROJECT).as_posix() if shared else None


@cache
def _imports_compiled(path: Path) -> bool:
    return any(
        name in COMPILED or _leads_to_compiled(name)
        for name in _imported(path)
        if name.startswith(("connector.", "tests."))
    )


def _leads_to_compiled(name: str) -> bool:
    """Follow a helper of the tests, and what a package offers as its own."""
    path = PROJECT.joinpath(*name.split("."))
    package = path / "__init__.py"
    if package.is_file():
        return _imports_compiled(package)
    helper = path.with_suffix(".py")
    return name.startswith("tests.") and helper.is_file() and _imports_compiled(helper)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
