"""Which tests differ by compilation, which ones a run plays, and which of them run on one worker.

A test differs by compilation if its file, or a helper in `tests` that it imports, imports a module
that is compiled, and if it runs without servers. All others run once, compiled, and so do those of
whole programs: the modules that play in them have tests of their own.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from connector.foundation import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from _pytest.fixtures import FixtureDef

PROJECT = Path(__file__).parents[1]
# The slowest first: the small ones at the end keep all workers busy to it.
SLOWEST_FIRST = ("spark", "kafka", "server")
# Folders with tests of whole programs.
PROGRAMS = frozenset(
    PROJECT / "tests" / name
    for name in ("cli", "debezium", "foundation/errors", "fuzz", "simulation")
)
# Where the servers are that all tests share. Most tests need these three, so each worker has them.
SERVERS = "tests/integration"
ON_EVERY_WORKER = frozenset({"mysql_server", "mariadb_server", "kafka_broker"})
# Parts of the name of a test that say on which server it runs.
FLAVOURS = frozenset({"mysql", "mysql_server", "mariadb", "mariadb_server"})
# With the module that chooses between the two.
COMPILED = frozenset(
    {
        compiled.__name__,
        *(".".join(path.relative_to(PROJECT).with_suffix("").parts) for path in compiled.sources()),
    }
)


def differs_by_compilation(item: pytest.Item) -> bool:
    """Return whether the test has to pass interpreted as well as compiled."""
    return not needs_servers(item) and may_differ_by_compilation(item.path)


def may_differ_by_compilation(path: Path) -> bool:
    """Return whether a file has tests that differ by compilation, unless they need servers."""
    return PROGRAMS.isdisjoint(path.parents) and _imports_compiled(path)


def needs_servers(item: pytest.Item) -> bool:
    """Return whether the test is marked as one that starts a server, a broker or Spark."""
    return any(item.get_closest_marker(name) for name in SLOWEST_FIRST)


def has_log(item: pytest.Item) -> bool:
    """Return whether the connector writes to a broker, or another program reads it."""
    return bool(item.get_closest_marker("kafka")) or (
        isinstance(item, pytest.Function)
        and any(fixture.argname == "kafka_broker" for fixture in _fixtures(item))
    )


def order(item: pytest.Item) -> int:
    """Return the place of the test's kind among all kinds, the slowest first."""
    places = [place for place, name in enumerate(SLOWEST_FIRST) if item.get_closest_marker(name)]
    return min(places, default=len(SLOWEST_FIRST))


def repeated_on_another_server(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests of the whole connector that another server runs, too.

    They take most of the time. Of each, the name decides on which server it stays; so about half of
    them stay on each. What is different between servers (protocol, log, values) has tests without a
    broker, none of which is returned.
    """
    forms: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        name, _, parameters = item.nodeid.partition("[")
        parts = parameters.removesuffix("]").split("-")
        if item.get_closest_marker("kafka") and FLAVOURS.intersection(parts):
            others = [part for part in parts if part not in FLAVOURS]
            forms["-".join([name, *others])].append(item)
    repeated: set[pytest.Item] = set()
    for story, own in forms.items():
        own.sort(key=lambda item: item.nodeid)
        stays = own[crc32(story.encode()) % len(own)]
        repeated.update(item for item in own if item is not stays)
    return repeated


def half_at_rest(items: Sequence[pytest.Item], seed: int) -> set[pytest.Item]:
    """Return every second test with servers, which the next run may play.

    They take most of the time. Each file keeps half of its own. `seed` is that of the order of the
    tests; an even one and the next one choose the two halves.
    """
    stories = [item for item in items if needs_servers(item)]
    stories.sort(key=lambda item: item.nodeid)
    Random(seed // 2).shuffle(stories)
    stories.sort(key=lambda item: item.path)
    return set(stories[seed % 2 :: 2])


def group(item: pytest.Function) -> str | None:
    """Return what all tests of one worker have in common, or None for a test that runs anywhere.

    Tests that share what a file, a folder or all of `tests/integration` starts once (a server of
    a version, Spark) run on one worker: no other worker has to start it as well.
    """
    shared = [
        fixture
        for fixture in _fixtures(item)
        if fixture.scope != "function" and fixture.baseid not in ("", "tests")
    ]
    common = [each for each in shared if each.baseid == SERVERS and each.scope == "session"]
    versions = [each.argname for each in common if each.argname not in ON_EVERY_WORKER]
    if versions:
        return min(versions)
    own = [each for each in shared if each.baseid != SERVERS]
    folders = [each.baseid for each in own if each.scope != "module"]
    if folders:
        return min(folders)
    return item.path.relative_to(PROJECT).as_posix() if own else None


def _fixtures(item: pytest.Function) -> Iterator[FixtureDef[object]]:
    """Yield the fixtures of a test, also those that a parameter names."""
    manager = item.session._fixturemanager
    params = item.callspec.params.values() if hasattr(item, "callspec") else ()
    named = [
        manager.getfixtureclosure(item, (value,), frozenset())[1]
        for value in params
        if isinstance(value, str) and manager.getfixturedefs(value, item)
    ]
    for definitions in (item._fixtureinfo.name2fixturedefs, *named):
        for fixtures in definitions.values():
            yield from fixtures[-1:]


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
