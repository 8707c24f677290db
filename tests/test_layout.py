"""Where tests lie: those that need servers in `tests/integration`, the others beside their room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.selection import PROJECT, SERVERS, needs_servers

if TYPE_CHECKING:
    import pytest

# Tools and data with tests of their own, and the tests of behaviour.
OTHERS = {"chaos", "data", "debezium", "fuzz", "golden", "integration", "simulation"}


def test_tests_that_need_servers_are_those_of_the_folder_integration(
    request: pytest.FixtureRequest,
) -> None:
    """Of all tests that pytest has collected: the whole suite, if it is given no paths."""
    wrong = [
        item.nodeid
        for item in request.session.items
        if needs_servers(item) != item.path.is_relative_to(PROJECT / SERVERS)
    ]
    assert wrong == []


def test_a_folder_of_tests_has_the_name_of_what_it_tests() -> None:
    parts = {"connector", "stream_jobs", "local_stack", "verification", "benchmarks"}
    known = parts | {path.parent.name for path in PROJECT.glob("connector/*/__init__.py")} | OTHERS
    folders = {path.parent.name for path in PROJECT.glob("tests/*/*.py")}
    assert folders - known == set()
