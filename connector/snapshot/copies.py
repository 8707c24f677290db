"""The copies of one pipeline: which tables, in which order, and what becomes of them.

An attendant of the stream: in its turns, between two source transactions, it opens windows, hands
out chunks to readers, and writes those that the stream has caught up with. It shares the time with
the stream where both have something to do.
"""

from __future__ import annotations

from queue import Empty
from typing import TYPE_CHECKING

import structlog

from connector.changes.statement import StatementKind
from connector.errors import DefiniteError, SourceRefused, UnsupportedChange
from connector.snapshot.jobs import (
    ChunkJob,
    ChunkRead,
    Failed,
    PassBusy,
    PassChunk,
    PassReady,
    PlanJob,
    Planned,
    TableChanged,
)
from connector.snapshot.table_copy import TableCopy
from connector.snapshot.table_pass import TablePass
from connector.snapshot.table_state import NO_REQUEST, TableState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from connector.config import SnapshotSettings
    from connector.metrics.figures import CopyFigures
    from connector.snapshot.jobs import Result
    from connector.snapshot.output import CopyOutput
    from connector.snapshot.readers import Readers
    from connector.snapshot.watermark import LogPosition

# While rows are under way, and while there is nothing to do.
_BUSY_PATIENCE_SECONDS = 0.005
_IDLE_PATIENCE_SECONDS = 0.2
_REPORT_SECONDS = 30.0
# Before a table that is read at once is tried again.
_PASS_PAUSE_SECONDS = 10.0
# Keys of a table that are kept at most; beyond, its chunks are read again once the stream is near
# the end of the log.
_KEYS_MAX = 1_000_000
# Times in a row that a table may turn out to be another one than the log says.
_CHANGES_MAX = 5
_MS = 1000
# Statements behind which a name has no table, unless another statement follows.
_ENDINGS = frozenset({StatementKind.DROP_TABLE, StatementKind.RENAME_TABLE})


class Copies:
    """Copies tables; an `Attendant`."""

    def __init__(
        self,
        output: CopyOutput,
        open_readers: Callable[[], Readers],
        lift_fences: Callable[[str, str], None],
        settings: SnapshotSettings,
        states: Iterable[TableState],
        *,
        keeps_new_tables: bool,
        goes_on_without: bool,
    ) -> None:
        """Go on with `states`; `lift_fences` is called with a table that is copied from new.

        `keeps_new_tables`: a table that the stream sees created needs no copy, and its state says
        so. `goes_on_without`: a table whose rows have no form in the envelope fails alone.
        """
        self._log = structlog.get_logger()
        self._output = output
        self._open_readers = open_readers
        self._lift_fences = lift_fences
        self._settings = settings
        self._keeps_new_tables = keeps_new_tables
        self._goes_on_without = goes_on_without
        self._states = {state.key_part: state for state in states}
        self._copies = [self._copy(state) for state in self._states.values() if state.under_way]
        self._readers: Readers | None = None
        self._read: list[ChunkRead] = []
        self._unread = 0
        self._pass: TablePass | None = None
        self._pass_not_before = 0.0
        self._not_before = 0.0  # the stream's turn until then
        self._seen: LogPosition | None = None
        self._last_report = output.seconds
        # (database, table, reason) of tables that are to be copied anew.
        self.resyncs: list[tuple[str, str, str]] = []

    @property
    def wants_turn(self) -> bool:
        """Whether something is to be written now."""
        if self._pass is not None and self._pass.is_approaching:
            return True
        if not self._read or self._output.seconds < self._not_before:
            return False
        position = self._output.position
        return position is not None and any(result.end <= position for result in self._read)

    @property
    def holds_stream(self) -> bool:
        """Whether the stream has to stand still where it is."""
        return self._pass is not None and self._pass.holds_stream

    @property
    def patience_seconds(self) -> float:
        """How long the stream may be waited for."""
        return _BUSY_PATIENCE_SECONDS if self._copies else _IDLE_PATIENCE_SECONDS

    def state(self, database: str, table: str) -> TableState | None:
        """Return how far the copy of all rows of a table is; None where nothing is known."""
        return self._states.get(f"{database}.{table}")

    def figures(self) -> Mapping[str, CopyFigures]:
        """Return how far the copies under way are, by table."""
        now = self._output.seconds
        return {copy.state.name: copy.figures(now) for copy in list(self._copies)}

    def copy(
        self, database: str, table: str, reason: str, *, request: int = NO_REQUEST, where: str = ""
    ) -> None:
        """Copy a table from the beginning; what consumers have of it is gone.

        With `where`, only rows that meet it are copied, over what consumers have.
        """
        fresh = TableState(database, table, reason=reason, request=request, where=where)
        known = self._states.get(fresh.key_part)
        if known is not None:
            self._end(known)
            fresh.request = max(request, known.request)
        self._states[fresh.key_part] = fresh
        self._copies.append(self._copy(fresh))
        if not where:
            self._lift_fences(database, table)
            self._output.put_rows_gone(database, table)
        self._output.put_state(fresh)
        self._log.info("a table is to be copied", table=fresh.name, reason=reason)

    def forget(self, state: TableState) -> None:
        """Drop what is known of a table, and its copy."""
        self._end(state)
        self._states.pop(state.key_part, None)
        self._output.forget_state(state)

    def step(self) -> None:
        """Write what may be written, and ask for more."""
        self._take_statements()
        self._take_published()
        resyncs, self.resyncs[:] = list(self.resyncs), []
        for database, table, reason in resyncs:
            self.copy(database, table, reason)
        if not self._copies:
            self._stop_reading()
            return
        self._take_results()
        self._write()
        self._step_pass()
        self._ask()
        if self._output.seconds - self._last_report >= _REPORT_SECONDS:
            self._report()

    def committed(self) -> None:
        """Nothing waits for that: rows and states are committed as one."""

    def close(self) -> None:
        """Give up what was read, and end the connections."""
        self._stop_reading()

    def _copy(self, state: TableState) -> TableCopy:
        return TableCopy(state, self._output.watch.table(state.name), self._settings)

    def _end(self, state: TableState) -> None:
        """Give up the copy that is under way, if there is one."""
        for copy in self._copies:
            if copy.state is state:
                self._drop(copy)
                self._copies.remove(copy)
                return

    def _drop(self, copy: TableCopy) -> None:
        """Give up what is under way of a copy."""
        if self._readers is not None:
            self._readers.cancel(copy.number)
        if self._pass is not None and self._pass.copy is copy:
            self._pass = None
        self._read = [result for result in self._read if result.job.copy != copy.number]
        copy.drop()

    def _stop_reading(self) -> None:
        readers, self._readers = self._readers, None
        if readers is not None:
            readers.close()
        self._read.clear()
        self._unread = 0
        self._pass = None

    def _take_statements(self) -> None:
        """Let the copies know what statements have done to tables."""
        watch = self._output.watch
        if not watch.statements:
            return
        statements, watch.statements = watch.statements, {}
        for (database, table), kind in statements.items():
            if kind is StatementKind.DROP_DATABASE:
                gone = [state for state in self._states.values() if state.database == database]
            elif kind in _ENDINGS:
                gone = [
                    state
                    for state in self._states.values()
                    if (state.database, state.table) == (database, table)
                ]
            else:
                gone = []
                if kind is StatementKind.CREATE_TABLE and self._keeps_new_tables:
                    self._keep_new(database, table)
            if kind in _ENDINGS:
                watch.published.discard((database, table))
            for state in gone:
                if state.under_way:
                    self._log.info("the copy ends: the table is gone", table=state.name)
                self.forget(state)

    def _take_published(self) -> None:
        """Copy tables that could not be seen: whoever may not read them is told so."""
        published = self._output.watch.published
        if self._keeps_new_tables:
            for database, table in sorted(published):
                if self.state(database, table) is None:
                    self.copy(database, table, "rows of it came, but it was not to be seen")
        published.clear()

    def _keep_new(self, database: str, table: str) -> None:
        if self.state(database, table) is None:
            now = self._output.now_ms
            state = TableState(database, table, "complete", "created", ended_at_ms=now)
            self._states[state.key_part] = state
            self._output.put_state(state)

    def _take_results(self) -> None:
        readers = self._readers
        if readers is None:
            return
        while True:
            try:
                result = readers.results.get_nowait()
            except Empty:
                return
            if isinstance(result.job, ChunkJob):
                self._unread -= 1
            copy = next((copy for copy in self._copies if copy.number == result.job.copy), None)
            if copy is not None:
                self._take(copy, result)
            elif isinstance(result, (PassReady, PassChunk)):
                readers.go_on()

    def _take(self, copy: TableCopy, result: Result) -> None:
        if isinstance(result, ChunkRead):
            copy.read(result)
            self._read.append(result)
        elif isinstance(result, Planned):
            self._take_plan(copy, result)
        elif isinstance(result, TableChanged):
            self._take_change(copy, result)
        elif isinstance(result, Failed):
            self._take_failure(copy, result.error)
        elif self._pass is not None and self._pass.copy is copy:
            if isinstance(result, PassBusy):
                self._log.warning(
                    "the copy of a table that is read at once could not begin; trying again",
                    table=copy.state.name,
                    reason=result.reason,
                    retry_in_seconds=_PASS_PAUSE_SECONDS,
                )
                self._drop(copy)
                self._pass_not_before = self._output.seconds + _PASS_PAUSE_SECONDS
            else:
                self._pass.take(result)

    def _take_plan(self, copy: TableCopy, planned: Planned) -> None:
        state = copy.state
        key = [column.name for column in planned.table.key_columns] if planned.ranges else []
        if state.phase != "copying" or not key or state.key != key:
            if state.rows and not state.where:
                # What was written is under other keys.
                self._output.put_rows_gone(state.database, state.table)
            state.phase = "copying"
            state.key = key
            state.ranges = planned.ranges
            state.rows = 0
            state.started_at_ms = self._output.now_ms
        state.estimated_rows = planned.estimated_rows
        copy.plan(planned)
        self._output.put_state(state)

    def _take_change(self, copy: TableCopy, changed: TableChanged) -> None:
        self._drop(copy)
        copy.changed += 1
        if changed.is_gone:
            copy.gone_at, copy.gone_reason = changed.end, changed.reason
        elif copy.changed > _CHANGES_MAX:
            reason = (
                f"copy of table {copy.state.name}: {changed.reason}: run `binlog-connector "
                "snapshot` for it once it no longer changes"
            )
            raise SourceRefused(reason)

    def _take_failure(self, copy: TableCopy, error: Exception) -> None:
        state = copy.state
        kept_back = isinstance(error, UnsupportedChange) and self._goes_on_without
        if not (kept_back or (state.request != NO_REQUEST and isinstance(error, DefiniteError))):
            raise error
        self._log.error("a copy failed", table=state.name, error=str(error))
        self._end(state)
        state.phase = "failed"
        state.error = str(error)
        state.ended_at_ms = self._output.now_ms
        self._output.put_state(state)

    def _write(self) -> None:
        """Write the chunks that the stream has caught up with, in its share of the time."""
        output = self._output
        position = output.position
        started = output.seconds
        moved, self._seen = position != self._seen, position
        if position is None or (moved and started < self._not_before):
            return
        for result in [result for result in self._read if result.end <= position]:
            copy = next((copy for copy in self._copies if copy.number == result.job.copy), None)
            if copy is None:
                # Given up in this turn, with a chunk before it.
                continue
            self._read.remove(result)
            if copy.watched.changes != result.job.changes:
                self._drop(copy)
                continue
            touched = copy.watched.touched_since(result.job.window)
            rows = output.put_chunk(result.chunk, touched, result.read_us)
            copy.written(result, rows, output.seconds)
            if all(part.done for part in copy.state.ranges):
                self._complete(copy)
            output.put_state(copy.state)
        ended = output.seconds
        self._not_before = ended + (ended - started)

    def _step_pass(self) -> None:
        table_pass = self._pass
        if table_pass is None:
            return
        outcome = table_pass.step()
        if outcome == "changed":
            self._drop(table_pass.copy)
        elif outcome == "complete":
            self._pass = None
            self._complete(table_pass.copy)
            self._output.put_state(table_pass.copy.state)

    def _complete(self, copy: TableCopy) -> None:
        state = copy.state
        self._end(state)
        state.phase = "complete"
        state.ended_at_ms = self._output.now_ms
        state.ranges = []
        self._log.info(
            "copied",
            table=state.name,
            rows=state.rows,
            seconds=round((state.ended_at_ms - state.started_at_ms) / _MS, 1),
        )

    def _ask(self) -> None:
        """Hand out what is to be read."""
        output, connections = self._output, self._settings.connections
        if self._readers is None and self._copies:
            self._readers = self._open_readers()
        readers = self._readers
        position = output.position
        for copy in self._copies[: connections + 1]:
            assert readers is not None
            planned = copy.planned
            if copy.gone_at is not None:
                if position is not None and position >= copy.gone_at:
                    # No statement has dropped it: it is there, and not to be seen.
                    self._take_failure(copy, SourceRefused(copy.gone_reason))
            elif planned is None:
                if not copy.is_asked:
                    copy.is_asked = True
                    readers.submit(PlanJob(copy.number, copy.state.database, copy.state.table))
            elif position is not None and position >= planned.end:
                # Before, a window would gather the keys of all that the stream has to catch up.
                self._ask_for_rows(copy, readers)

    def _ask_for_rows(self, copy: TableCopy, readers: Readers) -> None:
        if copy.watched.key_count > _KEYS_MAX:
            self._drop(copy)
        elif not copy.state.ranges:
            if self._pass is None and self._output.seconds >= self._pass_not_before:
                self._pass = TablePass(copy, self._output, readers)
        else:
            while self._unread + len(self._read) <= self._settings.connections:
                job = copy.next_job(self._output)
                if job is None:
                    break
                readers.submit(job)
                self._unread += 1

    def _report(self) -> None:
        self._last_report = self._output.seconds
        for name, figures in self.figures().items():
            if figures.rows:
                self._log.info(
                    "copying",
                    table=name,
                    rows=figures.rows,
                    estimated_rows=figures.estimated_rows,
                    rows_per_second=round(figures.rows_per_second),
                    eta_seconds=None if figures.eta_seconds is None else round(figures.eta_seconds),
                )
