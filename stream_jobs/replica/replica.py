"""The replica of one mirror: each step takes the target from one cut to a newer one.

The mirror has decided everything that is difficult: the order of changes, records that come twice
or late, transactions that are larger than a batch. What is left is the difference of two complete
states, and one transaction that writes it. At the first load, each table has a connection of its
own, and several tables are loaded at a time.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import NoReturn

from stream_jobs.cuts.cut import Cut, CutStore
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError
from stream_jobs.replica import replica_errors
from stream_jobs.replica.state_tables import ReplicaState, StateTables
from stream_jobs.replica.table_step import GONE, TableStep, TableStepPlanner
from stream_jobs.replica.table_writer import TableWriter, WriteCounts
from stream_jobs.replica.target import TargetSession, target_settings
from stream_jobs.settings import Settings


def load_tables(
    steps: Sequence[TableStep], connections: int, load: Callable[[TableStep], WriteCounts]
) -> Iterator[tuple[TableStep, WriteCounts]]:
    """Call `load` for each step, at most `connections` at a time; yield what is done.

    After an error, the tables that are being loaded are loaded to their ends, and no others.
    """
    # Large tables first, so that none is left alone at the end.
    largest = sorted(steps, key=lambda step: step.difference.live or 0, reverse=True)
    pool = ThreadPoolExecutor(connections, "load")
    try:
        begun = {pool.submit(load, step): step for step in largest}
        for future in as_completed(begun):
            yield begun[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class AppliedCut:
    """What was written for one cut."""

    cut: int = 0
    source_time_ms: int | None = None
    seconds: float = 0.0
    tables: int = 0  # that differed
    loaded: list[str] = field(default_factory=list)  # as a whole
    deleted: int = 0  # keys, also those that were not there
    inserted: int = 0  # rows
    left_out: dict[str, str] = field(default_factory=dict)


class _LoadWholeError(Exception):
    """Files of a table are gone, so the difference cannot be read."""


class Replica:
    """A target and the mirror that it is kept equal to; a context manager closes the session."""

    def __init__(self, settings: Settings) -> None:
        """Take the mirror and the target of `settings`; nothing was asked of them yet.

        Raises ConfigError for wrong settings.
        """
        self._base = settings.mirror.path.rstrip("/")
        storage = storage_of(settings.mirror.path)
        self._cuts = CutStore(storage, self._base)
        self._login = target_settings(settings.replica)
        self._connections = settings.replica.connections
        self._marker = StateTables(settings.name, self._base)
        self._steps = TableStepPlanner(storage, self._base, settings.replica.database, self._marker)
        self._target: TargetSession | None = None
        self.applied = ReplicaState()

    @property
    def target_name(self) -> str:
        """HOST:PORT of the target."""
        return f"{self._login.host}:{self._login.port}"

    def apply_newest(self) -> AppliedCut | None:
        """Take the target to the newest cut; None if it has it, or if there is none.

        After any error, the target has the cut before, or this one, as its marker says. Raises
        SourceUnavailable if a later attempt may succeed, and MirrorError if not.
        """
        cut = self._cuts.latest(self.applied.cut or 0)
        if cut is None:
            return None
        while True:
            try:
                target = self._session(cut)
                return self._apply(target, cut)
            except _LoadWholeError:
                self.close()
            except MirrorError:
                self.close()
                # The job may have removed what it names.
                newer = self._cuts.latest(cut.number)
                if newer is None or newer.number == cut.number or self._cuts.read(cut.number):
                    raise
                cut = newer
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End the session; an open transaction is rolled back."""
        if self._target is not None:
            self._target.close()
            self._target = None

    def _session(self, cut: Cut) -> TargetSession:
        if self._target is None:
            target = TargetSession(self._login)
            try:
                self.applied = self._marker.claim(target)
            except BaseException:
                target.close()
                raise
            self._target = target
            tables = self.applied.tables
            paths = {name: mark.path for name, mark in tables.items() if name in cut.tables}
            self._steps.begin(target, paths)
        return self._target

    def _apply(self, target: TargetSession, cut: Cut) -> AppliedCut | None:
        applied = self.applied
        if applied.cut is not None and (cut.number, cut.seq) == (applied.cut, applied.seq):
            return None
        if applied.cut is not None and cut.number < applied.cut:
            raise MirrorError(
                replica_errors.OLDER_CUT,
                server=target.name,
                applied=applied.cut,
                path=self._base,
                number=cut.number,
            )
        began = time.monotonic()
        report = AppliedCut(cut.number, cut.source_time_ms)
        report.left_out.update(cut.left_out)
        steps = self._prepared(target, cut, report)
        if applied.cut is None:
            # Nobody relies on a cut yet: each table is loaded by itself, and stays if this ends.
            for step, written in load_tables(steps, self._connections, self._load):
                self._done([step], written, report)
            steps = []
        self._done(steps, self._transaction(target, steps, report, cut), report)
        self.applied.cut, self.applied.seq = cut.number, cut.seq
        self.applied.left_out = dict(report.left_out)
        report.seconds = time.monotonic() - began
        return report

    def _prepared(self, target: TargetSession, cut: Cut, report: AppliedCut) -> list[TableStep]:
        """Return what differs, and make the tables of the target fit."""
        prepared: list[TableStep] = []
        for name in self.applied.tables.keys() - cut.tables.keys() - cut.left_out.keys():
            report.left_out[name] = "the mirror does not follow it any more"
        for name in cut.tables:
            mark = self.applied.tables.get(name)
            step = self._steps.of(name, cut, mark)
            if isinstance(step, str):
                report.left_out[name] = step
            elif step is not None:
                prepared.append(self._steps.prepare(target, step, mark))
        report.tables = len(prepared)
        report.loaded = [step.name for step in prepared if step.is_whole]
        return prepared

    def _load(self, step: TableStep) -> WriteCounts:
        """Load one table, over a session of its own; others are loaded meanwhile."""
        with TargetSession(self._login) as target:
            self._marker.lock(target, with_others=True)
            return self._written(target, [step])

    def _transaction(
        self, target: TargetSession, steps: Sequence[TableStep], report: AppliedCut, cut: Cut | None
    ) -> WriteCounts:
        """Write `steps` and their marks, and that of `cut` if it is given, or nothing."""
        self._marker.lock(target)
        return self._written(target, steps, cut, self._changed_reasons(report.left_out))

    def _written(
        self,
        target: TargetSession,
        steps: Sequence[TableStep],
        cut: Cut | None = None,
        reasons: Mapping[str, str | None] | None = None,
    ) -> WriteCounts:
        """Write what the open transaction is for, and commit it."""
        writers = [TableWriter(target, step) for step in steps]
        deleted = sum(self._guarded(writer.step, writer.delete) for writer in writers)
        # Only now: a unique value may move from one row to another.
        inserted = sum(self._guarded(writer.step, writer.insert) for writer in writers)
        for step in steps:
            self._marker.mark_table(target, step.name, step.mark)
        if cut is not None:
            self._marker.mark_cut(target, cut, reasons or {})
        target.execute("COMMIT", "_cdc")
        return WriteCounts(deleted, inserted)

    def _done(self, steps: Sequence[TableStep], written: WriteCounts, report: AppliedCut) -> None:
        """Note what was committed."""
        report.deleted += written.deleted
        report.inserted += written.inserted
        for step in steps:
            self.applied.tables[step.name] = step.mark
            self._steps.done(step)

    def _changed_reasons(self, now: Mapping[str, str]) -> dict[str, str | None]:
        before = self.applied.left_out
        return {
            name: now.get(name)
            for name in before.keys() | now.keys()
            if before.get(name) != now.get(name)
        }

    def _guarded(self, step: TableStep, write: Callable[[], int]) -> int:
        try:
            return write()
        except MirrorError as error:
            self._load_whole(step, error)

    def _load_whole(self, step: TableStep, error: MirrorError) -> NoReturn:
        """Raise what makes the next attempt load the table, or `error` if that cannot help."""
        if error.code not in GONE or step.is_whole:
            raise error
        self._steps.load.add(step.name)
        raise _LoadWholeError from error
