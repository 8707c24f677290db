"""The cuts of a running job: the end of each batch, the record of a cut, and its removal.

*Target.* A batch of the usual size ends at the newest moment up to which the topics have
everything: it takes the records that have come to other tables, too. If there is more to do than
a batch may take, the same target stays until all tables have come to it.

*Record.* A cut is written when each table has every change below the target's sequence, and no
other one. It is written after the commits that it names, so a crash leaves only true cuts; the
batch is then run again, and writes this cut or a later one. Nothing is written if no table and no
transaction came since the last cut.

*Another sequence.* If the topics were deleted, the sequence may begin lower than that of the last
cut. The tables of this cut have rows that the new records do not replace, so there is no cut until
each of them was made again.

*Left out.* A table that is in quarantine, or has no mirror, is named in the cut, and does not
stop it.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from connector.foundation.errors.message import Message
from stream_jobs.apply.table_failures import concerns_one_table
from stream_jobs.cuts import cut_errors
from stream_jobs.cuts.cut import NO_KEY, Cut, CutShards, CutTable
from stream_jobs.cuts.cut_target import CutTarget, CutTargetFinder
from stream_jobs.cuts.state_topics import COPYING, DeliveredPosition
from stream_jobs.delta.log import now
from stream_jobs.errors import CommitConflict, MirrorError
from stream_jobs.run.cut_history import CutHistory
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import Shard, TableSchema
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.table_work import TableWork
from stream_jobs.tables.topic_state import TopicState, TopicStates

_PAUSE_SECONDS: Final = 0.01
# A record of a row without one of progress: it comes with the same Kafka transaction.
_PATIENCE_SECONDS: Final = 5.0


class CutCoordinator:
    """Ends batches at cuts, and writes these."""

    def __init__(
        self, targets: CutTargetFinder, record: CutHistory, states: TopicStates, records_max: int
    ) -> None:
        """Write cuts to `record`.

        A batch takes at most `records_max` records that Spark has not found yet.
        """
        self._targets = targets
        self.record = record
        self._states = states
        self._records_max = records_max
        self._target: CutTarget | None = None
        # A target after which rows came without a record of progress.
        self._given_up: PackedSequence | None = None
        # By topic and partition, where the tables are.
        self._reached: dict[str, Mapping[int, int]] = {}
        # The partitions that have ended at the bound of the target.
        self._held: dict[str, set[int]] = {}
        # Mirrors that could not be opened.
        self._failed: dict[str, MirrorError] = {}
        # When all tables were looked at last.
        self._looked_ms = 0
        # Why there are no cuts at the moment; None if there are some.
        self.problem: Message | None = None

    def begin(
        self, ranges: Sequence[OffsetRange], aside: frozenset[str] = frozenset()
    ) -> tuple[list[OffsetRange], PackedSequence | None]:
        """Return what a batch with `ranges` takes, and the sequence that it does not reach.

        Without a moment up to which the topics have everything, that is all. Topics that are set
        `aside` are left out.
        """
        topics = {span.topic for span in ranges}
        if self._target is None:
            self._aim(topics)
        target = self._target
        if target is None or target.delivered.bound == self._given_up:
            self._target = None
            return list(ranges), None
        self._open(target.ends.keys() - topics - aside - self._reached.keys())
        return self._extended(ranges, target, aside), target.delivered.bound

    def bound(self, topics: Iterable[str]) -> PackedSequence | None:
        """Return the sequence that tables which are tried again do not reach."""
        self._aim(topics)
        return None if self._target is None else self._target.delivered.bound

    @property
    def delivered(self) -> DeliveredPosition | None:
        """The moment of the target; None without one."""
        return None if self._target is None else self._target.delivered

    def later(self, bound: PackedSequence) -> PackedSequence | None:
        """Wait for a target after `bound`, and return its sequence; `bound` if none comes in time.

        None if there is no target.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            self._aim(())
            if self._target is None:
                return None
            if self._target.delivered.bound > bound:
                return self._target.delivered.bound
            time.sleep(_PAUSE_SECONDS)
        return bound

    @property
    def progress_topic(self) -> str:
        """The topic that says up to where the topics have everything."""
        return self._targets.progress_topic

    def highest(self) -> PackedSequence | None:
        """Return the sequence that no change of any pipeline reaches; None if that is not known."""
        return self._targets.highest()

    def give_up(self, bound: PackedSequence) -> None:
        """There are changes of another pipeline than that of the target with `bound`."""
        self._target, self._given_up = None, bound
        self.problem = Message(cut_errors.NOT_COVERED, {})

    def ends(self, topic: str) -> Mapping[int, int]:
        """Return the ends of the partitions of a topic that are read for the target."""
        return {} if self._target is None else self._target.ends.get(topic, {})

    def miss(self) -> None:
        """Let the next batch find a target of its own."""
        self._target = None

    def has_news(self) -> bool:
        """Return whether the source has gone on since the last cut, or a copy has ended.

        Or whether other pipelines may soon delete versions that the last cut names.
        """
        newest, last = self._targets.delivered(), self.record.last
        # It is lower if the topics were made again.
        if newest is None or last is None or str(newest.bound.unpack()) != last.seq:
            return newest is not None
        if self._states.has_other_pipelines and self._is_old(last):
            return True
        # The end of a copy has no change of its own if it comes after the last row.
        return self._targets.has_copied([n for n, why in last.left_out.items() if why == COPYING])

    def note(self, works: Iterable[TableWork]) -> None:
        """Note where the tables of a batch are."""
        bound = None if self._target is None else self._target.delivered.bound
        for work in works:
            if work.error is None:
                self._reached[work.topic] = dict(work.ranges.starts)
                # What ended at another bound may have records below that of the target.
                is_same = work.ranges.bound == bound
                self._held[work.topic] = set(work.ranges.held) if is_same else set()
            else:
                self.forget(work.topic)

    def forget(self, topic: str) -> None:
        """Look at the mirror of a topic again."""
        self._reached.pop(topic, None)
        self._held.pop(topic, None)
        self._failed.pop(topic, None)

    def finish(self, left_out: Mapping[str, tuple[str, str]]) -> Cut | None:
        """Write a cut if all tables have come to the target; return it if it was written.

        `left_out` says by topic what a table is called that cannot go on, and why.
        """
        target = self._target
        if target is None:
            return None
        self._looked_ms = now()
        missing = dict(left_out.values())
        found = _Found(unclear=self._see())
        for state in self._followed(target, left_out.keys(), missing):
            if not self._has_come(state, target.ends[state.topic]):
                return None
            if state.mirror is not None and state.schema is not None:
                # A newer process of the pipeline, or a load, may have written to the shard.
                if not state.mirror.is_newest and self._look_again(state.mirror, found.unclear):
                    self._come_to(state.mirror, state.topic)
                    return None
                found.add(state.mirror, state.schema, target.delivered.bound)
        for name, why in target.incomplete.items():
            if name in found.mirrors:
                missing[name] = why
                found.tables.pop(found.mirrors[name], None)
            else:
                # It gets its mirror with its first rows; or the reason why it has none is known.
                missing.setdefault(name, why)
        self._leave_out(target.ends, found.tables, missing)
        missing |= found.left_out
        self._target = None
        refusal = self.record.refusal(target.delivered.bound, found.made, missing)
        if refusal is not None or found.beyond:
            # A table beyond the target was applied without one; a later target will do.
            self.problem = refusal or self.problem
            return None
        self.problem = None
        cut = self.record.add(
            target.delivered, found.tables, missing, found.latest, found.shards_of_tables
        )
        if self._states.has_other_pipelines:
            # Their versions go also while no batch of this pipeline has anything to clean up.
            self.record.remove_old((), now())
        return cut

    def _see(self) -> dict[str, str]:
        """Read tables that other pipelines write to, if that was long ago.

        Returns by path why some of them cannot be read.
        """
        unclear = {}
        for merged in self._shared():
            try:
                merged.see()
            except MirrorError as error:
                unclear[merged.path] = _reason(error)
        return unclear

    def _shared(self) -> list[MergedTable]:
        """Return the tables to which other pipelines write."""
        return self._states.merged.every() if self._states.has_other_pipelines else []

    def _is_old(self, last: Cut) -> bool:
        """Return whether the tables were read long ago that other pipelines write to."""
        if now() - max(last.written_ms, self._looked_ms) > self.record.renewal_ms:
            return True
        for merged in self._shared():
            # The next cut says what is wrong with it.
            with suppress(MirrorError):
                if merged.is_old:
                    return True
        return False

    def _look_again(self, mirror: MirrorTable, unclear: dict[str, str]) -> bool:
        """Read how far a mirror is; if it cannot be read, say in `unclear` why, and return False.

        It is not read if it is there already.
        """
        path = mirror.delta.path
        if path not in unclear:
            try:
                mirror.refresh()
            except MirrorError as error:
                unclear[path] = _reason(error)
        return path not in unclear

    def _come_to(self, mirror: MirrorTable, topic: str) -> None:
        """Let the next cut begin where a mirror is."""
        self.miss()
        self.forget(topic)
        self._reached[topic] = dict(mirror.progress.offsets)

    def _leave_out(
        self, topics: Iterable[str], tables: dict[str, CutTable], missing: dict[str, str]
    ) -> None:
        """Leave a mirror out of a cut if one of its shards is `missing`, and say which one."""
        for topic in topics if missing else ():
            name, mirror = self._states.name(topic), self._states.mirror_name(topic)
            if mirror != name and name in missing:
                tables.pop(mirror, None)
                missing[mirror] = f"{name}: {missing[name]}"

    def _followed(
        self, target: CutTarget, left_out: Collection[str], missing: dict[str, str]
    ) -> Iterator[TopicState]:
        """Yield the tables that must come to `target`; say in `missing` why others need not."""
        topics = target.ends.keys() - left_out
        self._states.open(topics - self._failed.keys())
        for topic in topics:
            if topic in self._failed:
                missing[topic] = self._failed[topic].text
                continue
            state = self._states.of(topic)
            if state.is_keyless:
                missing[self._states.name(topic)] = NO_KEY
            elif state.is_known and not state.is_skipped:
                yield state

    def _aim(self, topics: Iterable[str]) -> None:
        self._target = self._targets.newest(topics)
        self._held = {}
        if self._target is None:
            self.problem = self._targets.problem

    def _open(self, topics: Iterable[str]) -> None:
        """Find out where tables are that had no batch since the start."""
        wanted = sorted(topics)
        self._states.open(wanted)
        for topic in wanted:
            try:
                mirror = self._states.of(topic).mirror
            except MirrorError as error:
                self._failed[topic] = error
            else:
                if mirror is not None:
                    self._reached[topic] = dict(mirror.progress.offsets)

    def _has_come(self, state: TopicState, ends: Mapping[int, int]) -> bool:
        reached = self._reached.get(state.topic, {})
        held = self._held.get(state.topic, set())
        return all(reached.get(n, 0) >= end or n in held for n, end in ends.items())

    def _extended(
        self, ranges: Sequence[OffsetRange], target: CutTarget, aside: frozenset[str]
    ) -> list[OffsetRange]:
        """Return `ranges` up to the target, with those of other tables, if that is not too much."""
        given = {(span.topic, span.partition): span for span in ranges}
        topics = {span.topic for span in ranges}
        wanted, count = dict(given), 0
        for topic, ends in target.ends.items():
            if topic in aside or topic in self._failed:
                continue
            # Most of the topics of a large mirror.
            if topic not in topics and self._reached.get(topic) == ends:
                continue
            if topic not in topics and not self._is_followed(topic):
                continue
            reached = self._reached.get(topic, {})
            starts = {n: reached.get(n, 0) for n in ends}
            if topic not in topics and all(starts[n] >= end for n, end in ends.items()):
                continue
            for number, end in ends.items():
                start = min(starts[number], end)
                known = given.get((topic, number), OffsetRange(topic, number, start, start))
                count += max(0, end - known.end)
                wanted[topic, number] = known._replace(end=max(end, known.end))
        return list(wanted.values()) if count <= self._records_max else list(ranges)

    def _is_followed(self, topic: str) -> bool:
        state = None
        with suppress(MirrorError):
            state = self._states.of(topic)
        return state is not None and state.is_known and not (state.is_skipped or state.is_keyless)


def _table_at_cut(own: MirrorTable) -> CutTable:
    snapshot = own.delta.whole.snapshot
    return CutTable(own.delta.path, snapshot.version, snapshot.metadata.table_id)


def _is_beyond(own: MirrorTable, bound: PackedSequence) -> bool:
    return any(mark >= bound for mark in own.progress.marks.values())


@dataclass(slots=True)
class _Found:
    """The mirrors that have come to a target."""

    tables: dict[str, CutTable] = field(default_factory=dict)
    times: list[int] = field(default_factory=list)
    # By the names of tables at the source, those of their mirrors.
    mirrors: dict[str, str] = field(default_factory=dict)
    # Those that have changes beyond the target; those that tables share.
    beyond: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    # If pipelines share the mirror, the shards of this one.
    shards: dict[str, list[Shard]] = field(default_factory=dict)
    # By path, why mirrors cannot be read; and by name, those of them that were to be added.
    unclear: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(self, mirror: MirrorTable, schema: TableSchema, bound: PackedSequence) -> None:
        """Add the mirror of a table; the target has the sequence `bound`."""
        name = self.mirrors[schema.name] = schema.mirror_name
        if (why := self.unclear.get(mirror.delta.path)) is not None:
            self.left_out[name] = why
            self.tables.pop(name, None)
            return
        self.tables[name] = _table_at_cut(mirror)
        if (at := mirror.progress.source_ts_ms) is not None:
            self.times.append(at)
        if mirror.is_shard:
            self.shared.add(name)
        if (shard := schema.chosen.shard) is not None and shard.prefix:
            self.shards.setdefault(name, []).append(shard)
        if _is_beyond(mirror, bound):
            self.beyond.add(name)

    @property
    def made(self) -> dict[str, CutTable]:
        """The tables that are made again as a whole: a shard does not change its mirror."""
        kept = self.shared - self.beyond
        return {name: own for name, own in self.tables.items() if name not in kept}

    @property
    def latest(self) -> int | None:
        """The newest time of a change at the source."""
        return max(self.times, default=None)

    @property
    def shards_of_tables(self) -> dict[str, CutShards]:
        """The shards of this pipeline in the tables."""
        return {
            name: CutShards(shards[0].column, tuple(sorted(shard.value for shard in shards)))
            for name, shards in sorted(self.shards.items())
            if name in self.tables
        }


def _reason(error: MirrorError) -> str:
    """Return why a table is left out of a cut; raises `error` if it concerns others, too."""
    if not concerns_one_table(error) and not isinstance(error, CommitConflict):
        raise error
    return error.text
