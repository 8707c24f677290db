"""One table: sums of key ranges first, then digests of rows, then keys that seem to differ."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verification.checksum_rounds import ChecksumRounds
from verification.checksums import Checksums, ServerChecksums
from verification.digests import Digest, RowIndex, keys_by_digest
from verification.foreign.foreign_report import ForeignResult, RowDifference
from verification.foreign.settlement import Settlement, Sides
from verification.foreign.target_rows import TargetRows
from verification.key_ranges import KeyRanges
from verification.patience import Patience
from verification.row_text import RowText
from verification.source_table import RowKey

# Keys of surplus rows that one scan of the target looks for.
_KEYS: Final = 100_000
# Candidates that are settled together: each group reads the log from its beginning. Their rows are
# in memory, so wide ones make smaller groups.
_CANDIDATES: Final = (1_000, 100_000)
_CANDIDATES_BYTES: Final = 256 * 1024 * 1024


class ForeignLimits(NamedTuple):
    """How much is done, and how much the target may lag."""

    lag_seconds: float = 60.0
    differences_max: int = 1000  # of a table; its comparison then ends
    rows_per_second: int = 0  # of the source; 0: no limit
    pace: Literal["adaptive", "full"] = "adaptive"  # at which the source is read
    patience_seconds: float = 60.0  # how long a server that is away is waited for


class _NewestRows:
    """A target, of which each round of sums reads the newest state."""

    def __init__(self, rows: TargetRows, patience: Patience) -> None:
        self._rows = rows
        self._patience = patience

    def divided(self, ranges: KeyRanges, rows: int, rows_of_a_range: int) -> KeyRanges:
        return self._patience.again(
            lambda: ranges.divided(self._rows.newest_keys(), rows, rows_of_a_range)
        )

    def sums(
        self, ranges: KeyRanges, text: RowText, show: Callable[[int], None]
    ) -> tuple[Checksums, NDArray[np.bool_]]:
        return self._patience.again(lambda: self._rows.sums(ranges, text, show))


class ForeignCheck:
    """Compares one table."""

    def __init__(
        self,
        sides: Sides,
        limits: ForeignLimits,
        result: ForeignResult,
        show: Callable[[int, int], None],
    ) -> None:
        """Fill `result`; `show` gets the rows that were read, and about how many there are."""
        self._sides = sides
        self._limits = limits
        self.result = result
        self._show = show
        self._rows = TargetRows(sides.target, sides.mapping)
        self._settlement = Settlement(sides, limits.lag_seconds, result)
        self._found: dict[Digest, RowDifference] = {}
        self._done = 0
        self._candidates_max = max(_CANDIDATES)

    def run(self) -> None:
        """Compare. Raises the errors of reading."""
        ranges = self._unequal_ranges()
        if ranges is None or len(ranges):
            self._read_rows(ranges)
        else:
            self._note_unfit_keys()
        self.result.has_unknown_keys = bool(self._rows.unfit_key_rows)
        self._end()

    def run_keys(self, keys: Mapping[Digest, RowKey]) -> None:
        """Compare the rows with some keys. Raises the errors of reading."""
        self.result.rows = self.result.changed_keys = len(keys)
        self._settle_all(iter([keys]))
        self._end()

    def _end(self) -> None:
        self._look_back()
        self.result.has_unknown_keys |= self.result.has_more
        self.result.differences = list(self._found.values())[: self._limits.differences_max]

    def _look_back(self) -> None:
        """Let older parts of the log say since when rows differ."""
        every = {digest: difference.origin for digest, difference in self._found.items()}
        origins = {digest: own for digest, own in every.items() if own is not None}
        if origins:
            self._sides.log.look_back(origins)
        for digest, own in origins.items():
            self._found[digest] = self._found[digest].with_origin(own)

    def _unequal_ranges(self) -> KeyRanges | None:
        """Return the ranges whose rows have to be read; None for all rows."""
        source, mapping = self._sides.source, self._sides.mapping
        key = source.key_number
        kinds_are_plain = all(
            pair.digits is None
            and pair.tolerance is None
            and pair.form.kind == source.no_rows.schema.field(pair.name).type
            for pair in mapping.pairs.values()
        )
        if key is None or not kinds_are_plain:
            return None
        text = RowText.of(source.session, source.schema, mapping.columns)
        if text is None:
            return None
        quoted = source.selected.quoted_name
        pace = source.pace
        lent = source.server.sessions.lent
        with ServerChecksums(lent, pace, quoted, key, text, source.patience) as sums:
            newest = _NewestRows(self._rows, self._sides.patience)
            rounds = ChecksumRounds(sums, newest, text, self._count)
            unequal = rounds.unequal(KeyRanges.whole(), self._most_rows)
        self.result.state = self._rows.state
        self.result.rows += rounds.rows
        self.result.target_rows += rounds.rows
        self.result.summed_rows += rounds.rows
        return unequal

    def _read_rows(self, ranges: KeyRanges | None) -> None:
        """Compare row by row: the rows in `ranges`, or all."""
        with TemporaryDirectory(prefix="binlog-connector-verify-") as folder:
            # One state of the target has all of its rows, so it begins anew if that is lost.
            index = self._sides.patience.again(lambda: self._indexed(Path(folder), ranges))
            self.result.target_rows += index.rows
            self._note_unfit_keys()
            # Together, because what lags is waited for.
            self._settle_all(chain(self._differing(index, ranges), self._surplus(index)))

    def _indexed(self, folder: Path, ranges: KeyRanges | None) -> RowIndex:
        """Return the rows of the newest state of the target."""
        mapping, size = self._sides.mapping, 0
        self.result.state = self._rows.refresh()
        near = mapping.tolerances
        are_near = near.near if near.names else None
        index = RowIndex(folder, self._most_rows, len(near.names), are_near)
        for rows in self._rows.batches(ranges):
            keys, digests = mapping.keys(rows.data), mapping.rows(rows.data, rows.unfit)
            index.add(keys, digests, near.numbers(rows.data))
            self._count(rows.data.num_rows)
            size += rows.data.nbytes
        index.complete()
        if size:
            fitting = _CANDIDATES_BYTES * index.rows // size
            self._candidates_max = min(max(fitting, min(_CANDIDATES)), max(_CANDIDATES))
        return index

    def _note_unfit_keys(self) -> None:
        """Note the rows whose key the source cannot have: no range has them in its sum."""
        self.result.target_rows += self._rows.unfit_key_rows
        self.result.has_more = self._rows.unfit_key_rows > self._limits.differences_max
        for row in self._rows.unfit_keys:
            mapping = self._sides.mapping
            key = {name: row[mapping.pairs[name].target] for name in mapping.key}
            self._found[(len(self._found), 0)] = RowDifference("surplus", key, None, [row])

    def _differing(
        self, index: RowIndex, ranges: KeyRanges | None
    ) -> Iterator[Mapping[Digest, RowKey]]:
        """Read the source, and yield the keys whose rows the target does not have."""
        source, mapping = self._sides.source, self._sides.mapping
        for theirs in source.chunks(ranges):
            data = mapping.of_source(theirs)
            keys = mapping.keys(data)
            numbers = mapping.tolerances.numbers(data)
            equal = index.are_equal(keys, mapping.rows(data), numbers)
            digests, values = keys_by_digest(data, mapping.key, keys, np.flatnonzero(~equal))
            self.result.rows += data.num_rows
            self._count(data.num_rows)
            yield dict(zip(digests, values, strict=True))

    def _surplus(self, index: RowIndex) -> Iterator[Mapping[Digest, RowKey]]:
        """Yield the keys that only the target had."""
        for unseen in index.unseen():
            for start in range(0, len(unseen.first), _KEYS):
                end = min(start + _KEYS, len(unseen.first))
                some = unseen.take(np.arange(start, end))
                yield self._sides.patience.again(partial(self._rows.keys_of, some))

    def _settle_all(self, pages: Iterator[Mapping[Digest, RowKey]]) -> None:
        """Settle what `pages` yields, until there are too many differences."""
        candidates: dict[Digest, RowKey] = {}
        for page in pages:
            for digest, key in page.items():
                candidates[digest] = key
                if len(candidates) >= self._candidates_max:
                    self._settle(candidates)
                    candidates = {}
            if self.result.has_more:
                return
        self._settle(candidates)

    def _settle(self, candidates: Mapping[Digest, RowKey]) -> None:
        # A key whose row moved while the source was read may come again.
        fresh = {digest: key for digest, key in candidates.items() if digest not in self._found}
        if not fresh or self.result.has_more:
            return
        room = self._limits.differences_max - len(self._found)
        self._found |= self._settlement.settle(fresh, room)
        self.result.has_more = len(self._found) > self._limits.differences_max

    def _count(self, rows: int) -> None:
        """Show that so many more rows were read, of one side."""
        self._done += rows
        known = self._sides.target.rows
        self._show(self._done, known + self._most_rows)

    @property
    def _most_rows(self) -> int:
        """About how many rows the larger side has: some targets do not know their own."""
        return max(self._sides.target.rows, self._sides.source.estimated_rows)
