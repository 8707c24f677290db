"""The records and truncates of one table that one batch has to apply, and how far it has come.

The *batch* is what Spark or a command asked for. The *ends* are where the whole work ends; they
are beyond the batch if a part of it was put off, see `limit`. The *starts* are where the next
records are read: they go up with each round.

A mirror knows where its records begin. Without a mirror, the whole topic is read: what earlier
batches have read was not applied anywhere. A table without a key has no mirror, and is read as
the stream goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from stream_jobs.apply.changes import TRUNCATES
from stream_jobs.apply.modes.mode import Mode, Truncation
from stream_jobs.apply.task_messages import PartResult
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.source.requests import Partition
from stream_jobs.source.sequence import PackedSequence, Truncate
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.topic_state import TopicState


def start_offsets(
    services: MirrorContext, state: TopicState, batch: Mapping[int, OffsetRange]
) -> dict[int, int]:
    """Return the first offset to read of each partition in `batch`.

    Raises MirrorError if the topic has got partitions, and records in them.
    """
    own = state.mirror
    begun = {partition: span.start for partition, span in batch.items()}
    if own is None and (state.is_keyless or not services.registry.history(state.topic)):
        return begun | {p: offset for p, offset in state.cursor.items() if p in begun}
    known = {} if own is None else own.progress.offsets
    missing = [(state.topic, partition) for partition in begun.keys() - known.keys()]
    starts = {partition: known[partition] for partition in begun.keys() & known.keys()}
    for (_, partition), offset in services.client.first_offsets(missing).items():
        starts[partition] = offset
    if own is not None:
        _check_partitions(services, state.topic, own, batch, starts)
    return {
        partition: max(start, state.cursor.get(partition, start))
        for partition, start in starts.items()
    }


def _check_partitions(
    services: MirrorContext,
    topic: str,
    own: MirrorTable,
    batch: Mapping[int, OffsetRange],
    starts: Mapping[int, int],
) -> None:
    """Raise MirrorError if there are records in a partition that the topic did not have."""
    count = own.progress.partitions
    added = [p for p, start in starts.items() if p >= count and start < batch[p].end]
    if not added:
        return
    if not services.accept_partitions:
        raise MirrorError(job_errors.PARTITIONS_ADDED, topic=topic, partitions=count)
    own.progress = replace(own.progress, partitions=max(added) + 1, are_keys_moved=True)


# Records of each partition that are read to find a `t` record: the first time, and at most.
_FURTHER: Final = 20_000
_FURTHER_MAX: Final = 320_000


class TableRanges:
    """The ranges of one table in one batch."""

    def __init__(
        self,
        services: MirrorContext,
        state: TopicState,
        ranges: Sequence[OffsetRange],
        bound: PackedSequence | None,
    ) -> None:
        """Begin where the mirror of `state` ends, or where the batch does without a mirror."""
        self._services = services
        self._state = state
        self.batch = {span.partition: span for span in ranges}
        self._ends = {span.partition: span.end for span in ranges}
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
        # The end of `truncates_place`, with what cannot be read yet; None: it was not asked for.
        self.truncates_written: int | None = None
        self.find_starts()

    @property
    def bound(self) -> PackedSequence | None:
        """The sequence up to which records are applied now; None: all are."""
        bounds = [bound for bound in (self._bound, self._key_change) if bound is not None]
        return min(bounds, default=None)

    @property
    def is_complete(self) -> bool:
        """Whether everything up to the ends was applied."""
        return all(self.starts[number] >= end for number, end in self._ends.items())

    @property
    def has_come(self) -> bool:
        """Whether everything below the bound was applied up to the ends."""
        return all(n in self.held or self.starts[n] >= end for n, end in self._ends.items())

    @property
    def is_deleted(self) -> bool:
        """Whether records were deleted, and there is none to read."""
        return any(self.starts.values()) and not self.left()

    @property
    def begun(self) -> dict[int, int]:
        """By partition, the first record that is not in the mirror."""
        own = self._state.mirror
        begun = {number: span.start for number, span in self.batch.items()}
        return begun if own is None else dict(own.progress.offsets)

    @property
    def truncates_end(self) -> int:
        """Where the batch ends in the partition of truncates."""
        if TRUNCATES in self.batch:
            return self.batch[TRUNCATES].end
        own = self._state.mirror
        return 0 if own is None else own.progress.offsets.get(TRUNCATES, 0)

    @property
    def truncates_place(self) -> Partition | None:
        """The partition of truncates; None if the mode does not have to know all of them."""
        is_asked = self._state.mode.truncation is Truncation.CHANGES
        return (self._state.topic, TRUNCATES) if is_asked else None

    @cached_property
    def are_truncates_known(self) -> bool:
        """Whether the batch has all of them, also those that cannot be read yet."""
        place = self.truncates_place
        if place is None:
            return False
        if self.truncates_written is None:
            self.truncates_written = self._services.client.written_offsets([place])[place]
        return self.truncates_end >= self.truncates_written

    def left(self) -> tuple[OffsetRange, ...]:
        """Return what is to be read; nothing if everything was applied before."""
        return tuple(
            OffsetRange(self._state.topic, partition, start, self.batch[partition].end)
            for partition, start in sorted(self.starts.items())
            if start < self.batch[partition].end
        )

    def is_before(self, ranges: Sequence[OffsetRange]) -> bool:
        """Return whether the bound keeps records from the table that are in its `ranges`."""
        return bool(self.held_ranges(ranges))

    def held_ranges(self, ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
        """Return the records in its `ranges` that the bound keeps from it, by partition."""
        return [
            span._replace(start=self.starts[span.partition])
            for span in sorted(ranges)
            if span.partition in self.held and self.starts[span.partition] < span.end
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
        self._take({n: span._replace(end=self._ends[n]) for n, span in self.batch.items()})

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
        places = client.partitions(topic)
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
        self._ends |= {n: max(self._ends.get(n, 0), span.end) for n, span in taken.items()}
        self.find_starts()
        return True

    def stop_before(self, key_change: PackedSequence) -> None:
        """Apply all records below a sequence before those from it on, which have another key."""
        self._key_change = key_change

    def advance(self, results: Sequence[PartResult]) -> None:
        """Go on after what a round has applied."""
        for result in results:
            self._state.cursor |= result.offsets
            self.starts |= result.offsets
            for number in result.held:
                if self._key_change is None:
                    # The rest belongs to a later cut.
                    self.held.add(number)
                else:
                    self._waiting[number] = self.batch[number].end
                self.batch[number] = self.batch[number]._replace(end=result.offsets[number])
        if self._key_change is not None and not self.left():
            for number, end in self._waiting.items():
                self.batch[number] = self.batch[number]._replace(end=end)
            self._key_change, self._waiting = None, {}

    def _take(self, batch: dict[int, OffsetRange]) -> None:
        self.batch = batch
        self.held = set()


class TableTruncates:
    """Rows below the floor are gone, or were changed by a truncate: as the mode says."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._found: set[Truncate] = set()
        self.floor: PackedSequence | None = None
        # Whether rows of the mirror are below the floor that have to die.
        self.is_killing = False
        # Whether truncates have to change rows of the mirror before others are applied.
        self.is_changing = False

    def add(
        self, own: MirrorTable | None, highest: PackedSequence, results: Sequence[PartResult]
    ) -> None:
        """Add those that tasks have found; the mirror, if there is one, does not know them."""
        self.floor = highest
        self._found.update(truncate for result in results for truncate in result.truncates)
        if self._mode.truncation is Truncation.CHANGES:
            self.is_changing = own is not None and not own.is_empty
        else:
            self.is_killing = own is not None

    def known(self, own: MirrorTable | None) -> tuple[Truncate, ...]:
        """Return those that may be above rows which are still to come, in order."""
        before = () if own is None else own.progress.truncates
        return tuple(sorted({*before, *self._found}))

    def follow(self, own: MirrorTable) -> None:
        """Take over what the mirror knows, after it was loaded or has changed."""
        floors = [floor for floor in (self.floor, own.progress.floor) if floor is not None]
        self.floor = max(floors, default=None)
        self.is_changing = self.is_changing and not own.is_empty

    def commit_killed(self, own: MirrorTable, results: Sequence[PartResult]) -> None:
        """Commit that the rows below the floor are gone."""
        assert self.floor is not None
        own.commit_floor(results, self.floor)
        self.is_killing = False

    def commit_changed(self, own: MirrorTable, results: Sequence[PartResult]) -> None:
        """Commit the rows that truncates have changed."""
        assert self.floor is not None
        own.commit_closed(results, self.floor, self._found)
        self.is_changing = False
