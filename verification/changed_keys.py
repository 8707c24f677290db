"""The keys of a table that have changed since a version of its mirror.

A key has changed at the source if a record of the topic says so, and in the mirror if its rows
differ from those of the version, whoever wrote them. Two versions differ in files, and in dead rows
of files; rows that a compaction has only moved are equal. Sequences and the words of commits are
not trusted, because whoever wrote rows by hand can have kept them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.foundation import contract
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.parquet_file import live_positions
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError, delta_errors
from verification.digests import Digest, RowIndex, keys_by_digest, row_digests
from verification.mirror_side import MirrorSide
from verification.pipeline import Pipeline
from verification.source_table import RowKey, SourceTable
from verification.table_topic import TopicRecord, require_records

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

OTHER_KEY: Final = "the table has got another key since then"
_ROWS_GONE: Final = "the table was emptied or copied since then"
_MANY: Final = "many keys have changed since then"

# Of a version that cannot be read any more.
VERSION_GONE: Final = (
    delta_errors.VERSION_MISSING,
    delta_errors.FILE_MISSING,
    delta_errors.NO_METADATA,
)


class AllRowsError(Exception):
    """All rows have to be compared; the text says why."""


class ChangedKeys:
    """Finds the keys of one table."""

    def __init__(self, pipeline: Pipeline, source: SourceTable, mirror: MirrorSide) -> None:
        """Look for what has changed in `source` and in `mirror`."""
        self._pipeline = pipeline
        self._source = source
        self._mirror = mirror
        self._keys_max = min(_KEYS_MAX, max(_KEYS_MIN, mirror.snapshot.live_rows // 2))
        self._found: dict[Digest, RowKey] = {}
        # What was looked at to its end: of the topic by partition, and of the mirror.
        self.ends: Mapping[int, int] = {}
        self.version = 0

    def since(self, before: Snapshot, begin: Mapping[int, int]) -> dict[Digest, RowKey]:
        """Return the keys that changed since a version, and since offsets of the topic.

        Raises AllRowsError if they cannot be told, LostRecordsError, MirrorError with a code of
        `VERSION_GONE`, and the errors of the pipeline.
        """
        mirror = self._mirror
        if not set(mirror.key) <= {column.name for column in before.columns}:
            raise AllRowsError(OTHER_KEY)
        # The records first: if all rows are compared anyway, no file is read for nothing.
        self._take_records(begin)
        now = mirror.refresh()
        self.version = now.version
        for keys in ChangedRows(mirror, before, now).each():
            self._take(*keys)
        return self._found

    def _take_records(self, begin: Mapping[int, int]) -> None:
        schema, pipeline = self._source.schema, self._pipeline
        names = schema.database, schema.table
        # What the connector has still to deliver has changed since then, too.
        self.ends = ends = pipeline.wait_until_delivered(pipeline.reached(), *names)
        require_records(pipeline.topic(*names), begin, pipeline.beginnings(*names), ends)
        for records in pipeline.records(*names, begin, ends):
            if any(record.op == contract.OP_TRUNCATE for record in records):
                raise AllRowsError(_ROWS_GONE)
            self._take_images(
                "before", [record for record in records if record.op not in _ONLY_AFTER]
            )
            self._take_images(
                "after", [record for record in records if record.op != contract.OP_DELETE]
            )

    def _take_images(self, image: str, records: Sequence[TopicRecord]) -> None:
        key = self._mirror.key
        try:
            data = self._source.typed([record.value for record in records], image, key)
        except MirrorError as error:
            raise AllRowsError(OTHER_KEY) from error
        if any(data[name].null_count for name in key):
            raise AllRowsError(OTHER_KEY)
        self._take(*keys_by_digest(data, key, row_digests(data, key), np.arange(data.num_rows)))

    def _take(self, own: Sequence[Digest], keys: Sequence[RowKey]) -> None:
        self._found |= zip(own, keys, strict=True)
        if len(self._found) > self._keys_max:
            raise AllRowsError(_MANY)
