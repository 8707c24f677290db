"""Tests that hold for every golden log: those of one server are one test of pytest.

What pytest does for a test takes longer than to read a log.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from functools import wraps
from typing import TYPE_CHECKING

import pytest

from connector.binlog.header import BinlogVersion, detect_version
from tests.golden.golden import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.golden.golden import GoldenLog


def every_log(
    test: Callable[..., None], chosen: Iterable[GoldenLog] | None = None
) -> Callable[..., None]:
    """Call a test for every log, or for the `chosen` ones, as its argument `log`.

    What fails says for which one.
    """
    of_server: defaultdict[str, list[GoldenLog]] = defaultdict(list)
    for log in logs() if chosen is None else chosen:
        of_server[log.recording.server].append(log)

    @wraps(test)
    def for_each(server: str, **others: object) -> None:
        for log in of_server[server]:
            try:
                test(log=log, **others)
            except BaseException as error:
                error.add_note(f"in {log.name}")
                raise

    signature = inspect.signature(test)
    parameters = [
        each.replace(name="server") if name == "log" else each
        for name, each in signature.parameters.items()
    ]
    for_each.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    of_each: Callable[..., None] = pytest.mark.parametrize("server", list(of_server))(for_each)
    return of_each


def every_log_of_a_source(test: Callable[..., None]) -> Callable[..., None]:
    """Call a test for every log of a version that a server may be streamed from."""
    return every_log(
        test,
        [log for log in logs() if detect_version(log.path.read_bytes()[4:]) is BinlogVersion.V4],
    )
