"""The records of one table that one batch has to apply, and how far it has come.

The *batch* is what Spark or a command asked for. The *ends* are those of the whole work; they are
beyond the batch if a part of it was put off, see `limit`. The *starts* are where the next records
are read: they go up with each round.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from stream_jobs.apply.modes.mode import Truncation
from stream_jobs.apply.truncates import TRUNCATES
from stream_jobs.source.ranges import OffsetRange
from stream_jobs.tables.start_offsets import start_offsets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_jobs.apply.facts import PartResult
    from stream_jobs.schema.sequence import PackedSequence
    from stream_jobs.tables.services import Services
    from stream_jobs.tables.topic_state import TopicState

# Records of each partition that are read to find a `t` record: the first time, and at most.
_FURTHER: Final = 20_000
_FURTHER_MAX: Final = 320_000


class TableRanges:
    """The ranges of one table in one batch."""

    def __init__(
        self,
        services: Services,
        state: TopicState,
        ranges: Sequence[OffsetRange],
        bound: PackedSequence | None,
    ) -> None:
        """Begin where the mirror of `state` ends, or where the batch does without a mirror."""
        self._services = services
        self._state = state
        self.batch = {each.partition: each for each in ranges}
        self._ends = {each.partition: each.end for each in ranges}
        # Records from this sequence on belong to a later cut.
        self._bound = bound
        # From this sequence on the table has another key: what is before it comes first. By
        # partition, the ends of what waits for that.
        self._key_change: PackedSequence | None = None
        self._waiting: dict[int, int] = {}
        # The partitions whose next record is not below the bound.
        self.held: set[int] = set()
        self.starts: dict[int, int] = {}
        self._further = _FURTHER
        self.find_starts()

    @property
    def bound(self) -> PackedSequence | None:
        """The sequence up to which records are applied now; None: all are."""
        bounds = [each for each in (self._bound, self._key_change) if each is not None]
        return min(bounds, default=None)

    @property
    def is_complete(self) -> bool:
        """Whether everything up to the ends was applied."""
        return all(self.starts[number] >= end for number, end in self._ends.items())

    @property
    def begun(self) -> dict[int, int]:
        """By partition, the first record that is not in the mirror."""
        own = self._state.mirror
        begun = {number: each.start for number, each in self.batch.items()}
        return begun if own is None else dict(own.progress.offsets)

    @property
    def truncates_end(self) -> int:
        """Where the batch ends in the partition of truncates."""
        if TRUNCATES in self.batch:
            return self.batch[TRUNCATES].end
        own = self._state.mirror
        return 0 if own is None else own.progress.offsets.get(TRUNCATES, 0)

    @cached_property
    def are_truncates_known(self) -> bool:
        """Whether the batch has all of them, also those that cannot be read yet."""
        if self._state.mode.truncation is not Truncation.CHANGES:
            return False
        place = self._state.topic, TRUNCATES
        return self.truncates_end >= self._services.client.written_offsets([place])[place]

    def left(self) -> tuple[OffsetRange, ...]:
        """Return what is to be read; nothing if everything was applied before."""
        return tuple(
            OffsetRange(self._state.topic, partition, start, self.batch[partition].end)
            for partition, start in sorted(self.starts.items())
            if start < self.batch[partition].end
        )

    def is_before(self, ranges: Sequence[OffsetRange]) -> bool:
        """Return whether the bound keeps records from the table that are in `ranges`."""
        return bool(self.kept_back(ranges))

    def kept_back(self, ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
        """Return the records in `ranges` that the bound keeps from the table, by partition."""
        own = (each for each in ranges if each.topic == self._state.topic)
        return [
            each._replace(start=self.starts[each.partition])
            for each in sorted(own)
            if each.partition in self.held and self.starts[each.partition] < each.end
        ]

    def find_starts(self) -> None:
        """Look again where the records begin: the mirror may have changed."""
        self.starts = start_offsets(self._services, self._state, self.batch)

    def go_on(self, bound: PackedSequence | None, ends: Mapping[int, int]) -> None:
        """Take records below another bound, up to the ends of the ranges, or to `ends`.

        Other partitions have records up to there that belong to those of the ranges: a `t` record
        empties the table in all of them.
        """
        self._bound = bound
        self._ends = {n: max(end, ends.get(n, 0)) for n, end in self._ends.items()}
        self._take({n: each._replace(end=self._ends[n]) for n, each in self.batch.items()})

    def limit(self, count: int) -> None:
        """Take about `count` records, not all of them."""
        left = {number: end - self.starts[number] for number, end in self._ends.items()}
        total = sum(records for records in left.values() if records > 0)
        if total <= count:
            return
        for number, records in left.items():
            if records > 0:
                end = self.starts[number] + max(1, records * count // total)
                self.batch[number] = self.batch[number]._replace(end=end)

    def read_further(self) -> bool:
        """Take more records of all partitions; return whether there are some.

        If columns do not fit the rows that exist, the connector empties the table with a `t` record
        before it copies them. That is in one partition, and the batch may end before it.
        """
        client, topic = self._services.client, self._state.topic
        places = [(topic, n) for n in range(client.partition_counts().get(topic, 0))]
        own, taken = self._state.mirror, dict(self.batch)
        applied = {} if own is None else own.progress.offsets
        for (_, number), end in client.end_offsets(places).items():
            start = min(applied.get(number, 0), end)
            known = taken.get(number, OffsetRange(topic, number, start, start))
            further = min(end, max(known.end, start) + self._further)
            taken[number] = known._replace(end=max(known.end, further))
        if taken == self.batch or self._further > _FURTHER_MAX:
            return False
        self._further *= 2
        self._take(taken)
        self._ends |= {n: max(self._ends.get(n, 0), each.end) for n, each in taken.items()}
        self.find_starts()
        return True

    def stop_before(self, key_change: PackedSequence) -> None:
        """Apply all records below a sequence before those from it on, which have another key."""
        self._key_change = key_change

    def advance(self, results: Sequence[PartResult]) -> None:
        """Go on after what a round has applied."""
        for each in results:
            self._state.cursor |= each.offsets
            self.starts |= each.offsets
            for number in each.held:
                if self._key_change is None:
                    # The rest belongs to a later cut.
                    self.held.add(number)
                else:
                    self._waiting[number] = self.batch[number].end
                self.batch[number] = self.batch[number]._replace(end=each.offsets[number])
        if self._key_change is not None and not self.left():
            for number, end in self._waiting.items():
                self.batch[number] = self.batch[number]._replace(end=end)
            self._key_change, self._waiting = None, {}

    def _take(self, batch: dict[int, OffsetRange]) -> None:
        self.batch = batch
        self.held = set()
