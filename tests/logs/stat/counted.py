"""The statistics of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.logs.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from connector.binlog.event import Event

    DecodeFile = Callable[[str], Iterator[Event]]


def counted(events: Iterable[Event]) -> Statistics:
    statistics = Statistics()
    for event in events:
        statistics.add(event)
    return statistics
