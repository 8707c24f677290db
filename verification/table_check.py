"""One table with a key: checksums of key ranges first, then the digests of rows that may differ.

Keys that differ are candidates, which `candidate_check` reads again; rows that differ can be
repaired.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_jobs.apply.row_hashes import Keys
from stream_jobs.errors import MirrorError
from verification import verify_errors
from verification.candidate_check import CandidateCheck, TablePair
from verification.checksum_rounds import ROWS_OF_A_RANGE, ChecksumRounds
from verification.checksums import ServerChecksums
from verification.cut_facts import RowOrigin
from verification.digests import Digest, RowIndex, digest_pairs, row_digests
from verification.key_ranges import EqualRanges, KeyRanges, Sample, numbers_of
from verification.key_texts import record_keys
from verification.mirror_side import MirrorSide
from verification.repair import copies_for, copy_again
from verification.report import Difference, TableResult
from verification.row_origins import RowOrigins
from verification.row_text import RowText
from verification.side import Side
from verification.source_table import RowKey


class _NewestVersion:
    """A mirror or a replica, of which each round of sums reads the newest version."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self.sums = side.sums

    def divided(self, ranges: KeyRanges, rows: int, rows_of_a_range: int) -> KeyRanges:
        keys = map(numbers_of, self._side.keys(self._side.refresh()))
        return ranges.divided(keys, rows, rows_of_a_range)


def unequal_ranges(
    tables: TablePair,
    sample: Sample | None,
    result: TableResult,
    show: Callable[[int], None],
    equal: EqualRanges | None = None,
) -> KeyRanges | None:
    """Return the ranges whose rows have to be read, of all or of a `sample`; None for all rows.

    Ranges that are `equal` already are left out, and others that are found equal are added.
    Raises MirrorError if the table has no ranges to choose from.
    """
    pipeline, source, mirror = tables
    key = source.key_number
    if key is None and sample is not None:
        raise MirrorError(verify_errors.NO_RANGES, table=result.name)
    text = None
    if key is not None and mirror.writes_texts_of(source.schema):
        text = RowText.of(pipeline.session, source.schema, mirror.columns)
    if sample is None and text is None:
        return None
    ranges = KeyRanges.whole()
    if sample is not None:
        keys = map(numbers_of, mirror.keys(mirror.snapshot))
        every = ranges.divided(keys, mirror.snapshot.live_rows, ROWS_OF_A_RANGE[0])
        ranges = sample.of(every)
        result.sample = f"{len(ranges)} of {len(every)} ranges of keys, --seed {sample.seed}"
    if key is None or text is None:
        return ranges
    if equal is not None:
        ranges = equal.rest()
        result.rows = result.mirror_rows = result.summed_rows = equal.rows
        result.rows_from_state = equal.rows
    with ServerChecksums(
        pipeline.lent_session, pipeline.pace, source.quoted_name, key, text, pipeline.patience
    ) as sums:
        rounds = ChecksumRounds(sums, _NewestVersion(mirror), text, show, equal)
        unequal = rounds.unequal(ranges, mirror.snapshot.live_rows)
    result.rows += rounds.rows
    result.mirror_rows += rounds.rows
    result.summed_rows += rounds.rows
    return unequal


# Candidates that are settled together.
_CANDIDATES_MAX: Final = 5000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is done, and how fast."""

    rows_per_second: int = 0  # of the source; 0: no limit
    differences_max: int = 1000  # of a table; its comparison then ends
    patience_seconds: float = 60.0  # how long pipeline and mirror may be behind
    repairs: bool = False
    sample: Sample | None = None  # of each table; all rows without it
    since: str = ""  # the cut since which keys have to have changed; all rows without it
    # Whether a mirror that lags is waited for, even if the topic says that it was equal.
    waits_for_mirror: bool = True


class TableCheck:
    """Compares one table."""

    def __init__(
        self,
        tables: TablePair,
        limits: Limits,
        result: TableResult,
        show: Callable[[int, int], None],
        origins: RowOrigins | None = None,
        wanted: Callable[[], dict[Digest, RowKey] | None] | None = None,
        equal: EqualRanges | None = None,
    ) -> None:
        """Fill `result`; `show` gets the rows that were read, and about how many there are.

        `origins` tell since when the mirror has the rows that differ. `wanted` returns the keys
        that are compared; without it, or if it returns None, all rows are. Ranges that are
        `equal` already are not summed again.
        """
        self._tables = tables
        self._pipeline, self._source, self._mirror = tables
        self._limits = limits
        self._result = result
        self._show = show
        self._origins = origins
        self._wanted = wanted
        self._equal = equal
        self._since: dict[Digest, RowOrigin] = {}
        self._different: dict[Digest, RowKey] = {}
        self._done = 0
        self._live = tables.mirror.snapshot.live_rows
        self._settlement = CandidateCheck(
            tables, limits.patience_seconds, waits_for_mirror=limits.waits_for_mirror
        )

    def run(self, *, is_summed: bool = False) -> None:
        """Compare; the rows of a table that `is_summed` already are read.

        Raises the errors of reading and of `CandidateCheck.settle`.
        """
        result, mirror = self._result, self._mirror
        result.missing_columns = mirror.missing_columns
        result.late_columns = mirror.late_columns
        wanted = None if self._wanted is None else self._wanted()
        if wanted is None and is_summed:
            self._read_rows(None)
        elif wanted is None:
            self._compare_all()
        else:
            self._compare(iter([(list(wanted), list(wanted.values()))]))
        if self._origins is not None and self._different:
            self._since = self._origins.of(self._different)
            pairs = zip(self._different, result.differences, strict=True)
            result.differences = [self._dated(digest, difference) for digest, difference in pairs]
        if self._limits.repairs:
            self._repair()
        if self._settlement.through is not None and result.began_at is not None:
            result.began_at = min(self._settlement.through, result.began_at)
        result.rows_without_change = mirror.rows_without_change
        result.version = mirror.snapshot.version
        result.transaction = mirror.last_transaction

    def _compare_all(self) -> None:
        """Compare sums, if there are, and the rows that these leave."""
        ranges = unequal_ranges(
            self._tables,
            self._limits.sample,
            self._result,
            self._count,
            self._equal,
        )
        if ranges is None or len(ranges):
            self._read_rows(ranges)

    def _read_rows(self, ranges: KeyRanges | None) -> None:
        """Compare row by row: the rows in `ranges`, or all."""
        mirror = self._mirror

        def indexed() -> RowIndex:
            # One view has all of its rows, so it begins anew if that is lost.
            index = RowIndex(Path(folder), self._live)
            for data in mirror.batches(mirror.refresh(), ranges):
                index.add(row_digests(data, mirror.key), row_digests(data, mirror.columns))
                self._count(data.num_rows)
            index.complete()
            return index

        with TemporaryDirectory(prefix="binlog-connector-verify-") as folder:
            index = mirror.again(indexed)
            self._result.mirror_rows += index.rows
            self._compare(self._differing(index, ranges))
            self._compare(self._surplus(index))

    def _count(self, rows: int) -> None:
        """Show that so many more rows were read, of one side."""
        self._done += rows
        self._show(self._done, self._live + max(self._live, self._source.estimated_rows))

    def _repair(self) -> None:
        """Let the pipeline copy the rows that differ, and look at their keys again."""
        result, different = self._result, self._different
        if not different:
            return
        keys: list[RowKey] = []
        surplus: list[tuple[Digest, RowKey, Difference]] = []
        for (digest, key), difference in zip(different.items(), result.differences, strict=True):
            if difference.kind == "surplus":
                surplus.append((digest, key, difference))
            else:
                keys.append(key)
        for repair in copies_for(self._source.key_columns, keys, self._surplus_keys(surplus)):
            settings, patience = self._pipeline.settings, self._limits.patience_seconds
            copy_again(settings, result.name, repair, patience)
        settled = self._settlement.settle(different)
        result.repaired += [
            difference
            for digest, difference in zip(different, result.differences, strict=True)
            if digest not in settled.differences and digest not in settled.unsettled
        ]
        result.unsettled += len(settled.unsettled)
        result.differences = [self._dated(*pair) for pair in settled.differences.items()]

    def _surplus_keys(self, surplus: list[tuple[Digest, RowKey, Difference]]) -> list[str] | None:
        """Return the keys of records whose rows only the mirror has; None if one has none."""
        if not surplus:
            return []
        if any(difference.source is not None for _, _, difference in surplus):
            # The mirror has a row twice: no key says which of them to take back.
            return None
        if not isinstance(self._mirror, MirrorSide):
            # A replica gets what changes in the mirror, and that may lack the row already.
            return None
        keys = {digest: key for digest, key, _ in surplus}
        return record_keys(self._source, self._mirror.key, keys)

    def _dated(self, digest: Digest, difference: Difference) -> Difference:
        """Return a difference that says since when it is there."""
        return replace(difference, since=self._since.get(digest))

    def _compare(self, pages: Iterator[tuple[list[Digest], list[RowKey]]]) -> None:
        """Settle what `pages` yields, until there are too many differences."""
        candidates: dict[Digest, RowKey] = {}
        for own, keys in pages:
            candidates |= zip(own, keys, strict=True)
            while len(candidates) >= _CANDIDATES_MAX and not self._result.has_more:
                some = dict(list(candidates.items())[:_CANDIDATES_MAX])
                self._settle(some)
                candidates = {d: key for d, key in candidates.items() if d not in some}
            if self._result.has_more:
                return
        self._settle(candidates)

    def _settle(self, candidates: dict[Digest, RowKey]) -> None:
        result = self._result
        if not candidates or result.has_more:
            return
        settled = self._settlement.settle(candidates)
        room = self._limits.differences_max - len(result.differences)
        # A key whose row moved while the source was read may come again.
        others = settled.differences.keys() - self._different.keys()
        some = [digest for digest in settled.differences if digest in others][:room]
        result.differences += [settled.differences[digest] for digest in some]
        self._different |= {digest: candidates[digest] for digest in some}
        result.unsettled += len(settled.unsettled)
        result.has_more = len(others) > room

    def _differing(
        self, index: RowIndex, ranges: KeyRanges | None
    ) -> Iterator[tuple[list[Digest], list[RowKey]]]:
        """Read the source, and yield the keys whose rows the mirror does not have."""
        mirror, schema, result = self._mirror, self._source.schema, self._result
        low = self._pipeline.low(schema.database, schema.table)
        self._settlement.hidden_keys.begin = low.ends
        for where in self._source.conditions(ranges):
            for rows in self._source.chunks(low.delivered, where):
                keys = row_digests(rows, mirror.key)
                equal = index.are_equal(keys, row_digests(rows, mirror.columns))
                yield self._keys(rows, keys, np.flatnonzero(~equal))
                result.rows += rows.num_rows
                self._count(rows.num_rows)

    def _surplus(self, index: RowIndex) -> Iterator[tuple[list[Digest], list[RowKey]]]:
        """Yield the keys that only the mirror had."""
        mirror = self._mirror
        for unseen in index.unseen():
            for start in range(0, len(unseen.first), _CANDIDATES_MAX):
                some = unseen.take(
                    np.arange(start, min(start + _CANDIDATES_MAX, len(unseen.first)))
                )
                data = mirror.rows_of(mirror.snapshot, some)
                yield self._keys(data, row_digests(data, mirror.key), np.arange(data.num_rows))

    def _keys(
        self, data: pa.Table, keys: Keys, places: NDArray[np.intp]
    ) -> tuple[list[Digest], list[RowKey]]:
        """Return the digests and the values of some keys."""
        clear = self._source.clear_keys.keys_of(data.take(places), self._mirror.key)
        return digest_pairs(keys.take(places)), clear
