"""Applies one batch of offset ranges to the tables; foreachBatch calls it.

    ranges ─▶ work of each table ─▶ tasks (one Spark job) ─▶ decisions and commits, in parallel
                       ▲                                           │
                       └──────── tables that need another round ───┘

Every table commits its rows with its progress, so a batch that is run again, after a crash at any
point, finds what was applied, and continues. A table that cannot go on is set aside: `quarantine`.
"""

import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from types import MappingProxyType
from typing import Final

from connector.foundation.errors.message import Message
from stream_jobs.apply.table_failures import DEFECT_TYPES, concerns_one_table, table_defect
from stream_jobs.cuts.cut import Cut
from stream_jobs.delta.log import now
from stream_jobs.errors import MirrorError
from stream_jobs.load.table_loads import TableLoads
from stream_jobs.run.cut_coordinator import CutCoordinator
from stream_jobs.run.iceberg_publication import IcebergPublication
from stream_jobs.run.job_state import Ownership
from stream_jobs.run.late_records import apply_late
from stream_jobs.run.quarantine import Quarantine
from stream_jobs.run.topic_identity import refuse_made_again
from stream_jobs.source.requests import Partition
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.topics import OffsetRange, ranges_by_topic, schema_topic
from stream_jobs.tables.batch_report import BatchReport
from stream_jobs.tables.load_state import TableLoad
from stream_jobs.tables.maintenance import TableMaintenance
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.quarantine_files import QuarantinedTable, ResumeRequest
from stream_jobs.tables.schema_evolution import statement_schema_ranges
from stream_jobs.tables.table_ranges import TableRanges
from stream_jobs.tables.table_work import Rounds, TableWork
from stream_jobs.tables.topic_state import TopicStates

# Records of resumed tables that are applied before the other tables have their turn again.
_RETRIED_RECORDS: Final = 200_000


class BatchApplier:
    """Applies the batches of one stream to the mirrors."""

    def __init__(
        self,
        services: MirrorContext,
        states: TopicStates,
        rounds: Rounds,
        upkeep: TableMaintenance,
        cuts: CutCoordinator,
        ownership: Ownership | None = None,
        iceberg: IcebergPublication | None = None,
        loads: TableLoads | None = None,
    ) -> None:
        """Apply tables in `rounds`, and then do the upkeep.

        Each batch looks first whether `ownership` still holds, and ends at one of `cuts`. It leaves
        new versions to `iceberg`. Tables of `loads` wait until their rows are loaded. Raises
        MirrorError if it cannot be read which tables are set aside.
        """
        self.services = services
        self._states = states
        self._rounds = rounds
        self._upkeep = upkeep
        self._cuts = cuts
        self.ownership = ownership
        self.iceberg = iceberg
        self.loads = loads
        self._isolation = Quarantine(services)
        if loads is not None:
            loads.is_set_aside = self._isolation.records.__contains__

    def check_owner(self) -> None:
        """Raise MirrorError if another process has taken the mirror."""
        if self.ownership is not None:
            self.ownership.check()

    @property
    def set_aside(self) -> frozenset[str]:
        """The topics of the tables that are set aside."""
        return frozenset(self._isolation.records)

    @property
    def records_set_aside(self) -> dict[str, QuarantinedTable]:
        """These tables by their topics, as they are now."""
        return dict(self._isolation.records)

    def applied(self) -> dict[Partition, int]:
        """Return by partition the first record that its table lacks, of all tables with changes.

        Of a table that is set aside, it is the record with which it goes on. Any thread may ask.
        """
        known: dict[str, Mapping[int, int]] = dict(self._states.offsets())
        known |= {topic: aside.begun for topic, aside in self.records_set_aside.items()}
        return {(topic, number): at for topic, own in known.items() for number, at in own.items()}

    def sync(self, topics: AbstractSet[str]) -> None:
        """Wait until no loss of power takes back what `applied` said; raises MirrorError."""
        self._states.sync(topics - self.set_aside)

    def apply(self, ranges: Sequence[OffsetRange]) -> BatchReport:
        """Apply the records in `ranges` that are not applied yet, of tables that can go on.

        With records of the schema topic, tables are looked for that have other columns and no row.
        Raises the MirrorError of what concerns more than one table, after all tables that can be
        committed were committed.
        """
        self.check_owner()
        began, aside = time.monotonic(), self._left_alone()
        schemas = schema_topic(self.services.registry.prefix)
        own = [span for span in ranges if span.topic not in {schemas, *aside}]
        if any(span.topic == schemas for span in ranges):
            self.services.registry.refresh()
        others = aside.union(span.topic for span in own)
        stated = statement_schema_ranges(self.services, self._states, others)
        taken, bound = self._cuts.begin([*own, *stated], aside)
        return self._apply(taken, bound, {}, began=began, required=own)

    def move_on(self) -> Cut | None:
        """Write a cut if the source has gone on without changing the tables; return it.

        Costs nearly nothing if it has not. Changes that wait are left to the next batch. Raises
        MirrorError if Kafka or the storage fails, or if another process has taken over.
        """
        if not self._cuts.has_news():
            return None
        self.check_owner()
        return self._cut_now()

    def _cut_now(self) -> Cut | None:
        self._cuts.begin((), self._left_alone())
        if self._lost:
            return None  # with their records, they are known after a restart, too
        cut = self._end_at_cut({})
        if self.iceberg is not None:
            self.iceberg.note((), cut)
        self._cuts.miss()
        return cut

    @property
    def no_cuts(self) -> Message | None:
        """Why there are no cuts at the moment."""
        return self._cuts.problem

    def retry(self) -> BatchReport | None:
        """Apply records of the tables that a command wants to resume; None if there are none.

        Large ones take several calls, so that other tables do not wait. Raises as `apply`.
        """
        requests = self._isolation.requests()
        if not requests:
            return None
        self.check_owner()
        began = time.monotonic()
        ranges, failed = [], {}
        for topic, request in requests.items():
            try:
                if request.rebuild:
                    self._rebuild(request)
                ranges += self._isolation.ranges(topic)
            except MirrorError as error:
                failed[topic] = error
        resumed = {}
        if self.loads is not None:
            resumed = self._isolation.go_on_loading(requests, failed, self.loads, self._states)
        requests = {topic: own for topic, own in requests.items() if topic not in resumed}
        ranges = [span for span in ranges if span.topic in requests]
        bound = self._cuts.bound(requests)
        report = self._apply(ranges, bound, requests, failed, began=began, required=ranges)
        report.resumed.extend(resumed.values())
        return report

    @property
    def loading(self) -> frozenset[str]:
        """The topics of tables that waited for rows at the last look; any thread may ask."""
        return frozenset() if self.loads is None else self.loads.topics - self.set_aside

    @property
    def refused_loads(self) -> dict[str, Message]:
        """Why nobody can load some of these tables, by `database.table`."""
        return {} if self.loads is None else self.loads.refused

    @property
    def waits_for_loads(self) -> bool:
        """Whether rows of such tables are being read, without a problem."""
        if self.loads is None or self._lost:
            return bool(self._lost)
        return bool(self.loading - self.loads.problems.keys())

    def catch_up(self) -> BatchReport | None:
        """Apply records of tables whose rows are loaded; None if there are none.

        A load ends when its table has everything that the SELECTs may have seen. Large tables take
        several calls, so that others do not wait. Raises as `apply`.
        """
        if self.loads is None:
            return None
        loads, aside = self.loads.catching_up(), self.set_aside
        loads = {topic: own for topic, own in loads.items() if topic not in aside}
        if not loads and not self._lost:
            return None
        self.check_owner()
        began = time.monotonic()
        bound = self._cuts.bound(loads)
        if bound is None:
            # Nobody knows up to where they are to be applied.
            loads = {}
            if not self._lost:
                return None
        ranges = [span for topic in loads for span in self._ranges_left(topic)]
        report = self._apply(ranges, bound, {}, began=began, loads=loads)
        self._cuts.miss()
        if not loads.keys() <= self.loads.held():
            self._cut_now()
        return report

    def _ranges_left(self, topic: str) -> list[OffsetRange]:
        """Return what a table lacks up to the moment of the last look at the topics.

        A partition of which it lacks nothing has an empty range.
        """
        own = self._states.of(topic).mirror
        begun = {} if own is None else own.progress.offsets
        return [
            OffsetRange(topic, number, min(begun.get(number, 0), end), end)
            for number, end in sorted(self._cuts.ends(topic).items())
        ]

    def _left_alone(self) -> frozenset[str]:
        """Return the topics that a batch does not apply."""
        return self.set_aside if self.loads is None else self.set_aside | self.loads.held()

    @property
    def _lost(self) -> dict[str, MirrorError]:
        """What is said of tables that were to be loaded again, because their mirrors are lost."""
        return {} if self.loads is None else self.loads.lost

    def _apply(
        self,
        ranges: Sequence[OffsetRange],
        bound: PackedSequence | None,
        requests: Mapping[str, ResumeRequest],
        failed: Mapping[str, MirrorError] = MappingProxyType({}),
        *,
        began: float,
        required: Sequence[OffsetRange] = (),
        loads: Mapping[str, TableLoad] = MappingProxyType({}),
    ) -> BatchReport:
        """Apply `ranges` up to `bound`, and `required` also beyond it.

        Tables of `requests` and `loads` come in steps; such a batch does not end at a cut.
        """
        phases = {"plan": 0.0, "tasks": 0.0, "commit": 0.0, "upkeep": 0.0}
        lost = self._lost
        new = self._set_aside({topic: {} for topic in lost}, lost, {})
        every, errors = self._begin(ranges, requests, bound)
        for work in every:
            if work.topic in loads:
                work.ranges.limit(_RETRIED_RECORDS)
        errors |= failed
        phases["plan"] = time.monotonic() - began
        self._rounds.run(every, phases)
        apply_late(every, required, bound, self._cuts, lambda late: self._rounds.run(late, phases))
        at = time.monotonic()
        if self.loads is not None:
            self.loads.end(every, loads, self._cuts.delivered)
        errors |= {work.topic: work.error for work in every if work.error is not None}
        self._cuts.note(every)
        # Those of a request or a load have come by themselves to where they are.
        cut = None if requests or loads else self._end_at_cut(errors)
        phases["commit"] += time.monotonic() - at
        errors |= self._maintain(every, cut, phases)
        begun: dict[str, Mapping[int, int]] = {
            topic: self._isolation.begun(topic, ranges) for topic in errors
        }
        begun |= {work.topic: work.ranges.begun for work in every}
        new += self._set_aside(begun, errors, requests)
        outcomes = [work.outcome for work in every]
        return BatchReport(
            records=sum(outcome.records for outcome in outcomes),
            tables={
                outcome.name: report for outcome in outcomes if (report := outcome.final_report())
            },
            sources={
                outcome.name: outcome.source for outcome in outcomes if outcome.report is not None
            },
            keyless_topics=[
                work.topic for work in every if work.is_keyless and work.outcome.records
            ],
            quarantined=new,
            resumed=self._resume(requests.keys() - errors, every),
            skipped={
                topic: sorted(request.skipped)
                for topic, request in requests.items()
                if request.skipped
            },
            set_aside=len(self._isolation.records),
            mirrors={place: path for outcome in outcomes for place, path in outcome.place.items()},
            cut=None if cut is None else cut.number,
            phases={name: round(seconds, 3) for name, seconds in phases.items()},
            seconds=time.monotonic() - began,
        )

    def _resume(self, topics: AbstractSet[str], every: Sequence[TableWork]) -> list[str]:
        """Go on with the tables that have caught up; return their names."""
        # A topic without a partition has no work.
        unfinished = {work.topic for work in every if not work.ranges.is_complete}
        return [self._isolation.go_on(topic) for topic in sorted(topics - unfinished)]

    def _maintain(
        self, every: Sequence[TableWork], cut: Cut | None, phases: dict[str, float]
    ) -> dict[str, MirrorError]:
        """Publish and tidy up the tables that were committed; return what failed, by topics."""
        at = time.monotonic()
        kept = [kept for w in every if w.error is None and (kept := w.outcome.kept) is not None]
        if self.iceberg is not None:
            self.iceberg.note(kept, cut)
        clean_at = now()
        self._cuts.record.remove_old((table.mirror.delta for table in kept), clean_at)
        errors = self._upkeep.after(kept, clean_at)
        if self.iceberg is not None:
            self.iceberg.note(kept, is_rewrite=True)
        phases["upkeep"] = time.monotonic() - at
        return errors

    def _end_at_cut(self, errors: Mapping[str, MirrorError]) -> Cut | None:
        """Write a cut if the tables have come to it, and nothing concerns more than one table."""
        if not all(map(concerns_one_table, errors.values())):
            return None
        left_out = {} if self.loads is None else self.loads.left_out()
        left_out |= self._isolation.left_out()
        for topic, error in errors.items():
            left_out[topic] = self._states.name(topic), f"[{error.code.code}] {error.text}"
        return self._cuts.finish(left_out)

    def _rebuild(self, request: ResumeRequest) -> None:
        """Throw the mirror of a table away, or its part of one that shards share."""
        self.services.registry.refresh()
        self._isolation.refuse_partial(request.topic, self.loads)
        if self._states.shared(request.topic) is None:
            self._cuts.record.forget(self._states.name(request.topic))
        self._isolation.rebuild(request, self._states.merged)
        self._forget(request.topic)
        if self.loads is not None:
            self.loads.forget(request.topic)

    def _forget(self, topic: str) -> None:
        """Look at the mirror of a topic again."""
        self._states.forget(topic)
        self._cuts.forget(topic)

    def _begin(
        self,
        ranges: Sequence[OffsetRange],
        requests: Mapping[str, ResumeRequest],
        bound: PackedSequence | None,
    ) -> tuple[list[TableWork], dict[str, MirrorError]]:
        """Return the work of each table, and by topic the errors of those that cannot begin."""
        every, failed = [], {}
        topics = ranges_by_topic(ranges)
        self._states.open(topics)
        ids = self.services.client.topic_ids(topics)
        for topic, own in sorted(topics.items()):
            try:
                state = self._states.of(topic)
                if state.is_skipped:
                    continue
                refuse_made_again(self.services.client, state, own, ids.get(topic, ""))
                if self.loads is not None:
                    self.loads.leave_replaced(state)
                if topic not in requests:
                    every.append(TableWork(self.services, state, own, bound=bound))
                    continue
                self._isolation.refuse_lost(state, own, requests[topic], self.loads)
                work = TableWork(self.services, state, own, requests[topic].skipped, bound)
                work.ranges.limit(_RETRIED_RECORDS)
                every.append(work)
            except MirrorError as error:
                failed[topic] = error
            except DEFECT_TYPES as error:
                failed[topic] = table_defect(topic, error)
        self._find_truncates([work.ranges for work in every])
        return every, failed

    def _find_truncates(self, every: Sequence[TableRanges]) -> None:
        """Ask once for the ends of all partitions of truncates that some modes have to know."""
        places = {place: own for own in every if (place := own.truncates_place) is not None}
        # After an error, each table asks for itself, so that the error is that of a table.
        with suppress(MirrorError):
            for place, end in self.services.client.written_offsets(places).items():
                places[place].truncates_written = end

    def _set_aside(
        self,
        begun: Mapping[str, Mapping[int, int]],
        errors: Mapping[str, MirrorError],
        requests: Mapping[str, ResumeRequest],
    ) -> list[QuarantinedTable]:
        """Set the tables with `errors` aside; raises an error that concerns more than its table.

        Raises MirrorError, too, if another process has taken over: it decides then.
        """
        new = []
        if errors:
            self.check_owner()
        for topic, error in sorted(errors.items()):
            self._forget(topic)
            if concerns_one_table(error):
                skipped = requests[topic].skipped if topic in requests else frozenset()
                new.append(self._isolation.set_aside(topic, begun[topic], error, skipped))
        for _, error in sorted(errors.items()):
            if not concerns_one_table(error):
                raise error
        return new
