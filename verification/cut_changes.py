"""The keys of a table that have changed since the cut that `--since` names.

A cut is named by its number, its time, its position or its transactions. If a time, a position or
a GTID is not that of a cut, the last cut before it is taken: with more changes, never with less.

A key has changed at the source if a record of the topic says so, and in the mirror if its rows
differ from the rows at the cut, whoever wrote them. The offsets of the cut are in the table's
version. Two versions differ in files, and in dead rows of files; rows that a compaction has only
moved are equal. Sequences and the words of commits are not trusted, because whoever wrote rows by
hand can have kept them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.binlog.gtid import AnyGtidSet, contains_all, parse_gtid_set
from connector.binlog.header import file_number
from connector.foundation import contract
from connector.foundation.errors import ConfigError, DecodeError
from stream_jobs.cuts import Cut, cut_errors
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.parquet_file import live_positions
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from verification import verify_errors
from verification.cut_facts import CutSummary, IncrementalScope
from verification.digests import Digest, RowIndex, keys_by_digest, row_digests
from verification.report import TableResult

if TYPE_CHECKING:
    from verification.mirror_side import MirrorSide
    from verification.pipeline import Pipeline, TopicRecord
    from verification.source_table import RowKey, SourceTable


# Rows that are in memory at a time.
_SLICE_ROWS: Final = 200_000


class ChangedRows:
    """Compares two versions of one mirror."""

    def __init__(self, mirror: MirrorSide, before: Snapshot, now: Snapshot) -> None:
        """Compare `before` with `now`, in the columns of the newest version."""
        self._mirror = mirror
        self._before = before
        self._now = now

    def each(self) -> Iterator[tuple[list[Digest], list[RowKey]]]:
        """Yield digests and values of keys, some at a time; a key may come twice.

        Raises MirrorError if a file is gone or damaged.
        """
        mirror = self._mirror
        with TemporaryDirectory(prefix="binlog-connector-verify-") as folder:
            index = RowIndex(Path(folder), self._count())
            for data in self._rows(self._before, self._now):
                index.add(row_digests(data, mirror.key), row_digests(data, mirror.columns))
            index.complete()
            for data in self._rows(self._now, self._before):
                keys = row_digests(data, mirror.key)
                equal = index.are_equal(keys, row_digests(data, mirror.columns))
                yield keys_by_digest(data, mirror.key, keys, np.flatnonzero(~equal))
            for unseen in index.unseen():
                for data in self._rows(self._before, self._now):
                    keys = row_digests(data, mirror.key)
                    places = np.flatnonzero(np.isin(keys.first, unseen.first))
                    yield keys_by_digest(data, mirror.key, keys, places)

    def _count(self) -> int:
        """Return about how many rows of `before` are in files that have changed."""
        files = self._before.files.values()
        return sum(max(0, file.live) for file in files if not self._now.has([file]))

    def _rows(self, one: Snapshot, other: Snapshot) -> Iterator[pa.Table]:
        """Yield the rows of a version at places where another version has none."""
        for file in one.files.values():
            if other.has([file]):
                continue
            own = self._live(file, one)
            theirs = other.files.get(file.path)
            if theirs is not None:
                own = np.setdiff1d(own, self._live(theirs, other), assume_unique=True)
            for start in range(0, len(own), _SLICE_ROWS):
                yield self._mirror.current_rows(file, own[start : start + _SLICE_ROWS])

    def _live(self, file: DataFile, snapshot: Snapshot) -> NDArray[np.int64]:
        log = self._mirror.log
        columns = [column for column in snapshot.columns if column.name in self._mirror.key]
        return live_positions(log.storage, log.path, file, columns)


# If more keys have changed, it is faster to compare all rows: so many, or half of the rows.
_KEYS_MAX: Final = 100_000
_KEYS_MIN: Final = 1000
# Which image of a record is of its key, besides the other one for an update.
_ONLY_AFTER: Final = frozenset({contract.OP_CREATE, contract.OP_READ})

_NOT_IN_CUT: Final = "the cut does not have the table as it is now"
_OTHER_KEY: Final = "the table has got another key since then"
_ROWS_GONE: Final = "the table was emptied or copied since then"
_MANY: Final = "many keys have changed since then"

_MISSING_VERSION: Final = (
    delta_errors.VERSION_MISSING,
    delta_errors.FILE_MISSING,
    delta_errors.NO_METADATA,
)


class _AllRowsError(Exception):
    """All rows have to be compared; the text says why."""


class ChangedKeys:
    """Finds the keys of one table."""

    def __init__(
        self,
        pipeline: Pipeline,
        source: SourceTable,
        mirror: MirrorSide,
        cut: Cut,
        root: str,
        result: TableResult,
    ) -> None:
        """Look for what has changed since `cut` of the mirror at `root`; tell it to `result`."""
        self._pipeline = pipeline
        self._source = source
        self._mirror = mirror
        self._cut = cut
        self._root = root
        self._result = result
        self._keys_max = min(_KEYS_MAX, max(_KEYS_MIN, mirror.snapshot.live_rows // 2))
        self._found: dict[Digest, RowKey] = {}

    def keys(self) -> dict[Digest, RowKey] | None:
        """Return the keys; None if all rows have to be compared.

        Raises MirrorError if the version of the cut cannot be read any more, or if Kafka has
        deleted records since then; and the errors of the pipeline.
        """
        facts, result = CutSummary.of(self._cut), self._result
        try:
            self._look()
        except _AllRowsError as why:
            result.compared_since = IncrementalScope(facts, None, str(why))
            return None
        result.compared_since = IncrementalScope(facts, len(self._found), None)
        result.rows = len(self._found)
        return self._found

    def _look(self) -> None:
        mirror, name = self._mirror, self._result.name
        own = self._cut.tables.get(name)
        if own is None or own.generation != mirror.snapshot.metadata.table_id:
            raise _AllRowsError(_NOT_IN_CUT)
        try:
            before = mirror.log.load_version(own.version)
            if not set(mirror.key) <= {column.name for column in before.columns}:
                raise _AllRowsError(_OTHER_KEY)
            # The records first: if all rows are compared anyway, no file is read for nothing.
            self._take_records(before)
            for keys in ChangedRows(mirror, before, mirror.refresh()).each():
                self._take(*keys)
        except MirrorError as error:
            if error.code not in _MISSING_VERSION:
                raise
            facts = {"number": self._cut.number, "version": own.version}
            raise MirrorError(
                cut_errors.TABLE_GONE, path=self._root, table=name, **facts
            ) from error

    def _take_records(self, before: Snapshot) -> None:
        schema, pipeline = self._source.schema, self._pipeline
        names = schema.database, schema.table
        begin = Progress.read(before.domains[DOMAIN]).offsets
        # What the connector has still to deliver has changed since the cut, too.
        ends = pipeline.wait_until_delivered(pipeline.reached(), *names)
        self._refuse_lost(begin, pipeline.beginnings(*names))
        for records in pipeline.records(*names, begin, ends):
            if any(record.op == contract.OP_TRUNCATE for record in records):
                raise _AllRowsError(_ROWS_GONE)
            self._take_images(
                "before", [record for record in records if record.op not in _ONLY_AFTER]
            )
            self._take_images(
                "after", [record for record in records if record.op != contract.OP_DELETE]
            )

    def _refuse_lost(self, begin: Mapping[int, int], first: Mapping[int, int]) -> None:
        for number, offset in first.items():
            if begin.get(number, 0) < offset:
                raise MirrorError(
                    verify_errors.RECORDS_LOST,
                    table=self._result.name,
                    number=self._cut.number,
                    partition=number,
                    offset=begin.get(number, 0),
                    first=offset,
                )

    def _take_images(self, image: str, records: Sequence[TopicRecord]) -> None:
        key = self._mirror.key
        try:
            data = self._source.typed([record.value for record in records], image, key)
        except MirrorError as error:
            raise _AllRowsError(_OTHER_KEY) from error
        if any(data[name].null_count for name in key):
            raise _AllRowsError(_OTHER_KEY)
        self._take(*keys_by_digest(data, key, row_digests(data, key), np.arange(data.num_rows)))

    def _take(self, own: Sequence[Digest], keys: Sequence[RowKey]) -> None:
        self._found |= zip(own, keys, strict=True)
        if len(self._found) > self._keys_max:
            raise _AllRowsError(_MANY)


_POSITION: Final = re.compile(r"(?P<file>[^:]+\.[0-9]+):(?P<position>[0-9]+)")


def parse_cut(storage: Storage, root: str, text: str) -> Cut:
    """Return the cut of the mirror in `storage` that `text` names; errors name its `root`.

    Raises ConfigError for another text, MirrorError if the mirror has no such cut any more, or if
    its cuts cannot be read.
    """
    store = CutStore(storage, root)
    if text.isdecimal():
        cut = store.read(int(text))
        wanted = f"with the number {text}"
    elif (at := _time(text)) is not None:
        until_ms = at.timestamp() * 1000
        cut = _last(store, lambda cut: (cut.source_time_ms or 0) <= until_ms)
        wanted = f"up to {at.isoformat()}"
    else:
        match = _POSITION.fullmatch(text)
        cut = _by_gtid(store, text) if match is None else _by_position(store, match)
        wanted = f"up to {text}"
    if cut is None:
        raise MirrorError(cut_errors.NO_CUT, path=root, wanted=wanted)
    return cut


def _time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _by_gtid(store: CutStore, text: str) -> Cut | None:
    """Return the cut with just these transactions, else the last one that lacks some of them."""
    newest = store.latest()
    flavour = "mysql" if newest is None else newest.flavour
    try:
        wanted = parse_gtid_set(text, flavour)
    except DecodeError as error:
        raise ConfigError(verify_errors.NOT_A_CUT, text=text) from error
    return _last(store, lambda cut: _is_until(cut, wanted))


def _is_until(cut: Cut, wanted: AnyGtidSet) -> bool:
    """Return whether a cut has no other transactions than `wanted`, or not all of them."""
    known = None if cut.gtid is None else parse_gtid_set(cut.gtid, cut.flavour)
    return known is not None and (contains_all(wanted, known) or not contains_all(known, wanted))


def _by_position(store: CutStore, match: re.Match[str]) -> Cut | None:
    """Return the last cut up to a position in the log of the server that the newest cut is of."""
    newest = store.latest()
    wanted = file_number(match["file"]), int(match["position"])
    if newest is None or _place(newest) < wanted:
        # It may be one in the log of an earlier server.
        return None
    epoch = newest.seq[: contract.SEQ_EPOCH_DIGITS]
    return _last(
        store, lambda cut: cut.seq[: contract.SEQ_EPOCH_DIGITS] < epoch or _place(cut) <= wanted
    )


def _place(cut: Cut) -> tuple[int, int]:
    file, _, position = cut.position.rpartition(":")
    return (file_number(file), int(position)) if file else (0, 0)


def _last(store: CutStore, is_before: Callable[[Cut], bool]) -> Cut | None:
    """Return the last cut that `is_before`; no cut after one that is not is so, either."""
    numbers = store.numbers()
    newest = None
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) // 2
        cut = store.read(numbers[middle])
        if cut is None or is_before(cut):
            # The job has removed it meanwhile, because it is old.
            newest, low = cut or newest, middle + 1
        else:
            high = middle
    return newest
