"""The keys of a table that have changed since a cut: what `--since` compares.

A key has changed at the source if a record of the topic says so, and in the mirror if its rows are
others than at the cut, whoever has written them. The offsets of the cut are in the table's version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from connector.contract import OP_CREATE, OP_DELETE, OP_READ, OP_TRUNCATE
from connector.errors import MirrorError, mirror_cuts, mirror_tables, verification
from stream_jobs.tables.progress import DOMAIN, Progress
from verification.changed_rows import ChangedRows
from verification.digests import digests, named
from verification.since import ComparedSince, CutFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_jobs.cuts import Cut
    from stream_jobs.delta.snapshot import Snapshot
    from verification.clear_keys import Key
    from verification.digests import Digest
    from verification.mirror_side import MirrorSide
    from verification.pipeline import Pipeline, TopicRecord
    from verification.report import TableResult
    from verification.source_table import SourceTable

# If more keys have changed, it is faster to compare all rows: so many, or half of the rows.
_KEYS_MAX: Final = 100_000
_KEYS_MIN: Final = 1000
# Which image of a record is of its key, besides the other one for an update.
_ONLY_AFTER: Final = frozenset({OP_CREATE, OP_READ})

_NOT_IN_CUT: Final = "the cut does not have the table as it is now"
_OTHER_KEY: Final = "the table has got another key since then"
_ROWS_GONE: Final = "the table was emptied or copied since then"
_MANY: Final = "many keys have changed since then"

_GONE: Final = (
    mirror_tables.VERSION_MISSING,
    mirror_tables.FILE_MISSING,
    mirror_tables.NO_METADATA,
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
        self._found: dict[Digest, Key] = {}

    def keys(self) -> dict[Digest, Key] | None:
        """Return the keys; None if all rows have to be compared.

        Raises MirrorError if the version of the cut cannot be read any more, or if Kafka has
        deleted records since then; and the errors of the pipeline.
        """
        facts, result = CutFacts.of(self._cut), self._result
        try:
            self._look()
        except _AllRowsError as why:
            result.compared_since = ComparedSince(facts, None, str(why))
            return None
        result.compared_since = ComparedSince(facts, len(self._found), None)
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
            if error.code not in _GONE:
                raise
            facts = {"number": self._cut.number, "version": own.version}
            raise MirrorError(
                mirror_cuts.TABLE_GONE, path=self._root, table=name, **facts
            ) from error

    def _take_records(self, before: Snapshot) -> None:
        schema, pipeline = self._source.schema, self._pipeline
        names = schema.database, schema.table
        begin = Progress.read(before.domains[DOMAIN]).offsets
        # What the connector has still to deliver has changed since the cut, too.
        ends = pipeline.wait_until_delivered(pipeline.reached(), *names)
        self._refuse_lost(begin, pipeline.beginnings(*names))
        for records in pipeline.records(*names, begin, ends):
            if any(record.op == OP_TRUNCATE for record in records):
                raise _AllRowsError(_ROWS_GONE)
            self._take_images("before", [each for each in records if each.op not in _ONLY_AFTER])
            self._take_images("after", [each for each in records if each.op != OP_DELETE])

    def _refuse_lost(self, begin: Mapping[int, int], first: Mapping[int, int]) -> None:
        for number, offset in first.items():
            if begin.get(number, 0) < offset:
                raise MirrorError(
                    verification.RECORDS_LOST,
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
        self._take(*named(data, key, digests(data, key), np.arange(data.num_rows)))

    def _take(self, own: Sequence[Digest], keys: Sequence[Key]) -> None:
        self._found |= zip(own, keys, strict=True)
        if len(self._found) > self._keys_max:
            raise _AllRowsError(_MANY)
