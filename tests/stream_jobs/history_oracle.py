"""What the rows of a history or a journal must be, by the source's own log.

The log alone says when each transaction was committed; the mirror says, by sequences, which change
begins and ends a version. So each border has its time in the log:

- of a change, the time of its transaction;
- of a record between two transactions (a copy), the time of the transaction before it.

Times can run backwards in a log: the servers write when a statement began, or another server's
time. Then a border is at the time of the one before it, of the same key.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from connector.binlog.events.transaction import CommitInfo
from connector.binlog.header import file_number
from stream_jobs.source.sequence import PackedSequence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.reader import BinlogReader

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = dict[str, Any]


class CommitTimes:
    """The commit times of a log."""

    def __init__(
        self, starts: dict[tuple[int, int], datetime], ends: dict[tuple[int, int], datetime]
    ) -> None:
        """Know the time of each transaction by the number of its file, and by a position.

        `starts` have the position of its first byte, `ends` that of the first one after it.
        """
        self._starts = starts
        self._ends = ends

    @classmethod
    def of_log(cls, log: BinlogReader) -> CommitTimes:
        """Read all transactions of `log`."""
        starts: dict[tuple[int, int], datetime] = {}
        ends: dict[tuple[int, int], datetime] = {}
        for transaction in log.transactions():
            events = transaction.events()
            first = next(events)
            us = first.header.timestamp * 1_000_000
            if isinstance(first.body, CommitInfo):
                us = first.body.original_commit_timestamp or us
            at = _EPOCH + timedelta(microseconds=us)
            end = first.next_position
            for event in events:
                end = event.next_position
            number = file_number(transaction.file)
            starts[number, transaction.position] = at
            ends[number, end] = at
        return cls(starts, ends)

    def at(self, hi: int, lo: int) -> datetime | None:
        """Return the time of a change, or of a record between two; None if it is not in the log."""
        sequence = PackedSequence(hi, lo).unpack()
        place = sequence.file, sequence.position
        return self._starts.get(place) or self._ends.get((place[0], place[1] + 1))


def problems_of_history(rows: Iterable[Row], key: list[str], times: CommitTimes) -> list[str]:
    """Return what is wrong with the versions of a history."""
    found = []
    for values, versions in _by_key(rows, key).items():
        border = None
        for row in versions:
            start, end = row["_cdc_valid_from"], row["_cdc_valid_to"]
            places = [(start, row["_cdc_hi"], row["_cdc_lo"])]
            if end is not None:
                places.append((end, row["_cdc_end_hi"], row["_cdc_end_lo"]))
            for time, hi, lo in places:
                of_log = times.at(hi, lo)
                if of_log is None:
                    found.append(f"{values}: nothing at {hi}, {lo}")
                elif time != max(of_log, border or of_log):
                    found.append(f"{values}: {time} is {of_log} in the log, after {border}")
                border = time
            is_current = row["_cdc_is_current"], row["_cdc_end_op"] is None, end is None
            if len({*is_current}) > 1:
                found.append(f"{values}: is it current? {row}")
        for older, newer in pairwise(versions):
            found += [f"{values}: {each}" for each in _between(older, newer)]
    return found


def problems_of_journal(rows: Iterable[Row], key: list[str], times: CommitTimes) -> list[str]:
    """Return what is wrong with the times of a journal."""
    found = []
    seen = set()
    for row in rows:
        place = row["_cdc_hi"], row["_cdc_lo"]
        values = tuple(row[name] for name in key)
        if place in seen:
            found.append(f"{values}: twice at {place}")
        seen.add(place)
        if row["_cdc_ts"] != times.at(*place):
            found.append(f"{values}: {row['_cdc_ts']} is {times.at(*place)} in the log")
    return found


def _by_key(rows: Iterable[Row], key: list[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Return the versions of each key, in their order; those of rows from before the key are not.

    Such rows have NULL in a column of the key.
    """
    keys = defaultdict(list)
    for row in rows:
        values = tuple(row[name] for name in key)
        if None not in values:
            keys[values].append(row)
    for versions in keys.values():
        versions.sort(key=lambda row: (row["_cdc_hi"], row["_cdc_lo"]))
    return keys


def _between(older: Row, newer: Row) -> Iterable[str]:
    """Yield what is wrong between two versions that follow each other."""
    if older["_cdc_valid_to"] is None or older["_cdc_valid_to"] > newer["_cdc_valid_from"]:
        yield f"two versions at {newer['_cdc_valid_from']}"
        return
    is_gap = older["_cdc_valid_to"] < newer["_cdc_valid_from"]
    is_same_change = (older["_cdc_end_hi"], older["_cdc_end_lo"]) == (
        newer["_cdc_hi"],
        newer["_cdc_lo"],
    )
    if older["_cdc_end_op"] in {"u", "c", "r"} and (is_gap or not is_same_change):
        yield f"a gap at {older['_cdc_valid_to']} that no delete and no truncate explains"
