"""A table without a key: each row must be in the mirror as often as at the source.

Equal rows cannot be told apart, so rows are counted, at one moment:

1. A snapshot of the source is taken. What it has is waited for, in the topic and in the mirror.
2. The rows of the mirror are counted, and those of the snapshot, in one SELECT.
3. The topic's records say what the mirror has and the snapshot has not. This is taken back.

Then both sides have the same counts, however often rows change meanwhile. If nobody knows whether
the snapshot has some changes of the table, it is taken again. If that does not help, the rows of
these changes are left open, and all others are proven.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from connector.errors import MirrorError, verification
from verification.digests import digests, pairs
from verification.meanwhile import Meanwhile
from verification.repair import ALL_ROWS, copy_again
from verification.report import Difference
from verification.row_tally import RowTally
from verification.source_snapshot import SourceSnapshot
from verification.source_sums import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verification.digests import Digest
    from verification.mirror_side import MirrorSide
    from verification.pipeline import Pipeline
    from verification.report import TableResult
    from verification.row_tally import Counts
    from verification.source_table import SourceTable
    from verification.table_check import Limits

_SNAPSHOTS_MAX: Final = 10


@dataclass
class _Found:
    """What one comparison found."""

    differences: dict[Digest, Difference] = field(default_factory=dict)
    unsettled: int = 0
    has_more: bool = False


class RowsCheck:
    """Compares one table without a key."""

    def __init__(
        self,
        pipeline: Pipeline,
        source: SourceTable,
        mirror: MirrorSide,
        limits: Limits,
        result: TableResult,
        show: Callable[[int, int], None],
    ) -> None:
        """Fill `result`; `show` gets the rows that were read, and about how many there are."""
        self._pipeline = pipeline
        self._source = source
        self._mirror = mirror
        self._limits = limits
        self._result = result
        self._show = show
        self._pace = Pace(limits.rows_per_second)
        self._done = 0
        self._live = mirror.snapshot.live_rows

    def run(self) -> None:
        """Compare. Raises MirrorError if it cannot be done, and the errors of reading."""
        result, limits = self._result, self._limits
        if limits.sample is not None:
            raise MirrorError(verification.NO_RANGES, table=result.name)
        result.missing_columns = self._mirror.missing_columns
        found = self._compare()
        if found.differences and limits.repairs:
            settings, patience = self._pipeline.settings, limits.patience_seconds
            copy_again(settings, result.name, ALL_ROWS, patience)
            before = found.differences
            found = self._compare()
            if not found.unsettled:
                result.repaired = [
                    each for digest, each in before.items() if digest not in found.differences
                ]

    def _compare(self) -> _Found:
        """Compare all rows, and put what is found into the result."""
        result, mirror = self._result, self._mirror
        result.rows = result.mirror_rows = 0
        with SourceSnapshot(self._pipeline, self._source) as snapshot:
            meanwhile = self._taken(snapshot)
            found = _Found(unsettled=1)
            if meanwhile.is_complete:
                found = self._found(snapshot, meanwhile)
        result.differences = list(found.differences.values())
        result.unsettled = found.unsettled
        result.has_more = found.has_more
        result.version = mirror.snapshot.version
        result.transaction = mirror.last_transaction
        return found

    def _taken(self, snapshot: SourceSnapshot) -> Meanwhile:
        """Take a snapshot, some times if nobody knows what it has of the table's changes."""
        meanwhile = self._since(snapshot)
        for _ in range(_SNAPSHOTS_MAX - 1):
            if meanwhile.is_complete and not meanwhile.perhaps:
                break
            self._show(self._done, self._live)
            meanwhile = self._since(snapshot)
        return meanwhile

    def _since(self, snapshot: SourceSnapshot) -> Meanwhile:
        """Take a snapshot; return what the mirror has and the snapshot has not."""
        pipeline, source, mirror = self._pipeline, self._source, self._mirror
        names = source.schema.database, source.schema.table
        low = pipeline.low(*names)
        moment = snapshot.take(low.delivered)
        ends = pipeline.wait_until_delivered(pipeline.reached(), *names)
        mirror.wait_until_applied(
            ends,
            lambda offsets: any(pipeline.records(*names, offsets, ends)),
            self._limits.patience_seconds,
        )
        return Meanwhile.read(pipeline, source, mirror, low, moment)

    def _found(self, snapshot: SourceSnapshot, meanwhile: Meanwhile) -> _Found:
        result, mirror = self._result, self._mirror
        found = _Found()
        unequal: dict[Digest, Counts] = {}
        with TemporaryDirectory(prefix="binlog-connector-verify-") as folder:
            tally = RowTally(Path(folder), self._live + self._source.estimated_rows)
            for data in mirror.batches(mirror.snapshot):
                tally.add(digests(data, mirror.columns), mirror=1)
                result.mirror_rows += data.num_rows
                self._count(data.num_rows)
            for data in snapshot.rows():
                tally.add(digests(data, mirror.columns), source=1)
                result.rows += data.num_rows
                self._count(data.num_rows)
                time.sleep(self._pace.seconds(data.num_rows))
            meanwhile.take_back(tally)
            different = 0
            for digest, counts in tally.unequal():
                if meanwhile.is_open(digest, counts):
                    continue
                different += digest in meanwhile.perhaps
                if len(unequal) == self._limits.differences_max:
                    found.has_more = True
                    break
                unequal[digest] = counts
        found.unsettled = len(meanwhile.perhaps) - different
        found.differences = self._named(unequal, snapshot, meanwhile)
        return found

    def _named(
        self, unequal: Mapping[Digest, Counts], snapshot: SourceSnapshot, meanwhile: Meanwhile
    ) -> dict[Digest, Difference]:
        """Find the values of rows, wherever they are."""
        pipeline, source, mirror = self._pipeline, self._source, self._mirror
        found: dict[Digest, Difference] = {}
        for data in chain(
            mirror.batches(mirror.snapshot),
            snapshot.rows(),
            meanwhile.rows(pipeline, source, mirror),
        ):
            if len(found) == len(unequal):
                break
            for place, digest in enumerate(pairs(digests(data, mirror.columns))):
                counts = unequal.get(digest)
                if counts is not None and digest not in found:
                    row = {name: data[name][place].as_py() for name in mirror.columns}
                    if counts.source > counts.mirror:
                        found[digest] = Difference("missing", {}, row, None, counts=counts)
                    else:
                        found[digest] = Difference("surplus", {}, None, row, counts=counts)
        return found

    def _count(self, rows: int) -> None:
        """Show that so many more rows were read, of one side."""
        self._done += rows
        self._show(self._done, self._live + max(self._live, self._source.estimated_rows))
