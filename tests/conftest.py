"""What holds for every test: its order, its worker, and the recorded logs.

`tests/integration/conftest.py` has the servers.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from connector.foundation import compiled
from tests import selection, signals
from tests.length import BOTH_HALVES, FULL, length
from tests.stale_build import newer_sources

if TYPE_CHECKING:
    from collections.abc import Generator

PROJECT = Path(__file__).parents[1]
# If fewer tests are asked for, somebody works on them, and wants each on every server.
_SOME_TESTS = 1_000
# When a test of Spark counts as one that hangs. The first one starts Spark, which takes 30 s alone
# and 180 s beside the other workers; a slow machine takes twice as long. After an end in the middle
# of a call to the Java virtual machine, all later tests of that session would fail.
_SPARK_SECONDS = 900
# How many new objects let the garbage collector look for circles. With the usual 700, a worker
# spends a thirtieth of its time there.
_OBJECTS = 10_000
# The number of this worker of pytest-xdist, and how many there are.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))

# Before the workers start, which have them from this process.
signals.reset()

# How long an example takes says more about the machine than about the code. Each run draws other
# examples.
hypothesis.settings.register_profile(
    "untimed", deadline=None, max_examples=length(short=12, full=100)
)
hypothesis.settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--differs-by-compilation",
        action="store_true",
        help="only tests of compiled modules that need no servers",
    )
    parser.addoption(
        "--folder-log",
        action="store_true",
        help="only tests with a log, each on a log in a folder instead of a broker",
    )
    parser.addoption(
        "--foreign-broker",
        metavar="PROGRAM",
        help="a program that serves PORT and keeps topics in FOLDER, in the place of each broker; "
        "a version may follow it",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over a file without tests that differ by compilation, before it imports anything."""
    if config.getoption("--differs-by-compilation") and collection_path.suffix == ".py":
        return None if selection.may_differ_by_compilation(collection_path) else True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each worker begin with other files of a folder.

    In a new clone, pytest compiles each file before it loads it, in 12 seconds for all of them. So
    a worker finds most files compiled by another one. pytest-randomly gives the tests an order that
    does not depend on this one.
    """
    report = yield
    is_random = collector.config.getoption("randomly_reorganize", default=False)
    if is_random and isinstance(collector, pytest.Directory) and report.result:
        report.result = [
            node
            for first in range(_WORKERS)
            for node in report.result[(first + _WORKER) % _WORKERS :: _WORKERS]
        ]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--differs-by-compilation"):
        chosen = [item for item in items if selection.differs_by_compilation(item)]
        left = [item for item in items if not selection.differs_by_compilation(item)]
        config.hook.pytest_deselected(items=left)
        items[:] = chosen
    elif not FULL and len(items) > _SOME_TESTS:
        left_out = selection.repeated_on_another_server(items)
        if not BOTH_HALVES:
            played = [item for item in items if item not in left_out]
            left_out |= selection.half_at_rest(played, _seed(config))
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    if config.getoption("--folder-log"):
        left = [item for item in items if not selection.has_log(item)]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if selection.has_log(item)]
        for item in items:
            if needs := item.get_closest_marker("broker"):
                item.add_marker(pytest.mark.skip(f"a log in a folder has not: {needs.args[0]}"))
    # The order inside of a kind stays: it is random.
    items.sort(key=selection.order)
    for item in items:
        if isinstance(item, pytest.Function) and (group := selection.group(item)):
            item.add_marker(pytest.mark.xdist_group(group))
        if item.get_closest_marker("spark") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_SPARK_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector rest: it would walk through thousands of tests, which all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse a pytest-xdist that does not bind groups: each worker would start every server.

    The tests stay to the end, so the garbage collector need not walk through them again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    if not session.config.getoption("loadgroup", default=False):
        return
    lost = [
        item.nodeid
        for item in session.items
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid
    ]
    assert not lost, f"{len(lost)} tests lost their group"


def pytest_report_header(config: pytest.Config) -> list[str]:
    part = "all" if BOTH_HALVES else f"half {_seed(config) % 2 + 1} of 2; TESTS=both runs all"
    return [f"connector: {compiled.description()}", f"tests with servers in a whole run: {part}"]


def _seed(config: pytest.Config) -> int:
    """Return the seed of the order; without pytest-randomly, 0."""
    return int(config.getoption("randomly_seed", default=0))


def pytest_sessionstart() -> None:
    newer = newer_sources()
    if newer:
        names = ", ".join(path.relative_to(PROJECT).as_posix() for path in newer)
        reason = f"compiled before its last change: {names}; run `make setup`, or use `make test`"
        pytest.exit(reason, pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session")
def shared_binlogs() -> Path:
    """The folder of recorded binlog files with known values, which lies beside the project."""
    folder = PROJECT.parent / "shared" / "binlogs"
    if not folder.is_dir():
        pytest.skip("no recorded binlogs beside the project: ../shared/binlogs is missing")
    return folder
