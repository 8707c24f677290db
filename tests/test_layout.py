"""Where tests lie: those that need servers in `tests/integration`, the others beside their room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.selection import PROJECT, SERVERS, half_at_rest, needs_servers

if TYPE_CHECKING:
    from collections.abc import Iterable

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


class _Test(pytest.Item):
    """A test that is never run."""

    def runtest(self) -> None:
        raise AssertionError


def _test(request: pytest.FixtureRequest, path: str, name: str, mark: str | None) -> _Test:
    test: _Test = _Test.from_parent(request.session, name=name, nodeid=f"{path}::{name}")
    test.path = PROJECT / path
    if mark:
        test.add_marker(mark)
    return test


@pytest.mark.parametrize("seed", [0, 4, 71802])
def test_two_runs_play_all_tests_with_servers(request: pytest.FixtureRequest, seed: int) -> None:
    marks = ("server", "kafka", "spark")
    stories = [
        _test(request, f"tests/integration/test_{file}.py", f"test_{number}", marks[number % 3])
        for file in "abc"
        for number in range(12)
    ]
    others = [_test(request, "tests/test_d.py", f"test_{number}", None) for number in range(9)]

    halves = [half_at_rest([*stories, *others], seed), half_at_rest([*stories, *others], seed + 1)]

    assert halves[0] | halves[1] == set(stories)
    assert not halves[0] & halves[1]
    assert halves[0] != half_at_rest([*stories, *others], seed + 2)
    assert {_count(half, stories) for half in halves} == {(6, 6, 6)}


def _count(half: set[pytest.Item], stories: Iterable[pytest.Item]) -> tuple[int, ...]:
    """Return how many tests of each file are in a half."""
    paths = sorted({story.path for story in stories})
    return tuple(sum(item.path == path for item in half) for path in paths)
