"""The copies of one pipeline: which tables to copy, and the results."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

import structlog

from connector.binlog.statement import StatementKind
from connector.foundation import errors
from connector.foundation.errors.code import Scope
from connector.foundation.settings.sections import Settings
from connector.replication.read_pace import PaceState
from connector.stream.metrics.control import Control
from connector.stream.metrics.pipeline_metrics import SnapshotMetrics
from connector.stream.quarantine.copy_guard import TableFenced
from connector.stream.snapshot import copy_errors, table_copy
from connector.stream.snapshot.copy_backlog import CopyBacklog
from connector.stream.snapshot.copy_output import CopyOutput
from connector.stream.snapshot.copy_scheduler import CopyScheduler
from connector.stream.snapshot.notifications import FAILED, SKIPPED, SnapshotNotifications
from connector.stream.snapshot.reader_pool import ReaderPool
from connector.stream.snapshot.table_copy import CopyEvent, TableCopy
from connector.stream.snapshot.table_state import AT_START, NO_REQUEST, TableState

# While rows are read, and while rows that foreign keys changed wait for their copy.
_BUSY_PATIENCE_SECONDS = 0.005
_WAITING_PATIENCE_SECONDS = 0.2
_REPORT_SECONDS = 30.0
_MS = 1000


class Copies:
    """Copies tables; an `Attendant`."""

    def __init__(
        self,
        output: CopyOutput,
        open_readers: Callable[[], ReaderPool],
        backlog: CopyBacklog,
        settings: Settings,
        states: Iterable[TableState],
        control: Control,
    ) -> None:
        """Continue `states`, and a pause in `control`; `backlog` has other tables to copy.

        If a pipeline starts with a snapshot, a table that the stream sees created needs no copy,
        and its state says so. With quarantine, a table whose rows have no form in the envelope
        fails alone.
        """
        self._log = structlog.get_logger()
        self._output = output
        self._queue = backlog.queue
        self._cascades = backlog.cascades
        self._settings = settings.snapshot
        self._keeps_new_tables = settings.source.start == "snapshot"
        self._goes_on_without = settings.quarantine.policy != "stop"
        self._states = {state.key_part: state for state in states}
        self.notifications = SnapshotNotifications(output.notifications, self._states)
        self._control = control
        self._copying = CopyScheduler(output, open_readers, settings.snapshot, control)
        for state in self._states.values():
            if state.under_way:
                self._copying.copies.add(self._copy(state))
        self._last_report = output.seconds

    @property
    def wants_turn(self) -> bool:
        return self._copying.wants_turn

    @property
    def holds_stream(self) -> bool:
        """Whether the stream must stop at its current position."""
        return self._copying.holds_stream

    @property
    def patience_seconds(self) -> float:
        if self._copying.copies:
            return _BUSY_PATIENCE_SECONDS
        return inf if self._cascades.idle else _WAITING_PATIENCE_SECONDS

    def state(self, database: str, table: str) -> TableState | None:
        """Return the state of the copy of all rows of a table; None if there is none."""
        return self._states.get(f"{database}.{table}")

    def metrics(self) -> Mapping[str, SnapshotMetrics]:
        """Return the metrics of the running copies, by table."""
        now = self._output.seconds
        return {copy.state.name: copy.metrics(now) for copy in self._copying.copies}

    def pace(self) -> PaceState | None:
        """Return how much of the source is read at a time; None if nothing is. For any thread."""
        return self._copying.pace()

    def cascaded(self) -> Mapping[str, float]:
        """Return for how many seconds rows that foreign keys have changed wait, by table.

        Their copies have not begun. Any thread may ask.
        """
        now = self._output.seconds
        waiting = self._cascades.waiting()
        return {f"{database}.{table}": now - since for (database, table), since in waiting.items()}

    def failed(self) -> Mapping[str, str]:
        """Return the errors of the copies that failed, by table; any thread may ask."""
        return {
            state.name: state.error
            for state in list(self._states.values())
            if state.phase == "failed"
        }

    def copy(self, fresh: TableState) -> None:
        """Copy the table of a new state from the beginning; consumers drop their rows of it.

        If a user asked for the copy, they drop them when the table was found. With `where`, only
        rows that meet it are copied, over those of the consumers; then they drop the rows with
        `keys` that the table does not have. The copy belongs to the `snapshot` of the state, an id
        of `notifications`; without, it is one of its own. The rows are read in the order of
        `surrogate_key`, if there is one, else in that of the key; those of tables with the same
        text `together` are read at one position, where the stream waits.
        """
        if not fresh.snapshot:
            tables = [(fresh.database, fresh.table)]
            fresh.snapshot = self.notifications.start(tables, initial=False)
        is_request = fresh.request != NO_REQUEST
        known = self._states.get(fresh.key_part)
        if not is_request:
            # The rows of consumers are taken back at once.
            fresh.before = "failed"
        elif known is not None:
            fresh.replace(known)
        if known is not None:
            self._end(known)
            if known.under_way:
                fresh.answer_for(known)
                self.notifications.end(known, SKIPPED)
        self._states[fresh.key_part] = fresh
        copy = self._copy(fresh)
        # The user of an earlier request asked for a copy that had not begun either.
        copy.takes_back = is_request and not fresh.where
        self._copying.copies.add(copy)
        if not fresh.where and not copy.takes_back:
            self._output.replace_rows(fresh.database, fresh.table)
        self._output.put_state(fresh)
        self._log.info("a table is to be copied", table=fresh.name, reason=fresh.reason)

    def copy_all(self, tables: Sequence[tuple[str, str]], reason: str) -> None:
        snapshot = self.notifications.start(tables, initial=reason == AT_START)
        is_loaded = reason == AT_START and self._settings.to == "mirror"
        for database, table in tables:
            load = uuid.uuid4().hex if is_loaded else ""
            self.copy(TableState(database, table, reason=reason, snapshot=snapshot, load=load))
        self.notifications.settle()

    def signal_number(self) -> int:
        """Return the number of the copies that the next signal asks for; none under way has it."""
        return min((NO_REQUEST, *(state.request for state in self._states.values()))) - 1

    def refuse(self, state: TableState, error: errors.ConnectorError, status: str) -> None:
        """Write that `error` ended a copy before it began; `status` is what is told."""
        self._log.error("a copy failed", table=state.name, **errors.fields(error))
        self._output.put_state(state)
        self.notifications.end(state, status)
        known = self._states.get(state.key_part)
        if known is None:
            self._output.forget_state(state)
        else:
            self._output.put_state(known)

    def stop(self, tables: Sequence[tuple[str, str]]) -> None:
        """End the running copies of `tables`, or of all tables if there are none; they fail."""
        stopped = [
            copy
            for copy in self._copying.copies
            if not tables or (copy.state.database, copy.state.table) in tables
        ]
        for copy in stopped:
            self._end_failed(copy, errors.SourceRefused(copy_errors.STOPPED))
        self.notifications.abort([copy.state for copy in stopped], some=bool(tables))
        for copy in stopped:
            if copy.state.where and copy.state.request == NO_REQUEST:
                self._fail_whole_table(copy.state)

    def dismiss(self, database: str, table: str) -> None:
        """Let a failed copy count as complete: somebody knows that consumers lack its rows."""
        state = self.state(database, table)
        if state is None or state.phase != "failed":
            return
        state.phase = "complete"
        self._output.put_state(state)
        self._log.info("a failed copy is dismissed", table=state.name, error=state.error)

    def pause(self, *, paused: bool) -> None:
        """Read no more rows while `paused`; what was read before is written."""
        if paused != self._control.copies_paused:
            self._control.copies_paused = paused
            self._log.info("copying pauses" if paused else "copying goes on")
        # In any case: the process may have paused in a transaction that Kafka aborted, and takes
        # the signal up again.
        self.notifications.pause(paused=paused)

    def forget(self, state: TableState) -> None:
        """Drop the state of a table, and its copy."""
        self._end(state)
        if state.under_way:
            self.notifications.end(state, SKIPPED)
        self._states.pop(state.key_part, None)
        self._output.forget_state(state)

    def step(self) -> None:
        """Handle what the stream did to tables, then copy."""
        self._take_statements()
        self._take_published()
        for database, table, reason in self._queue.take():
            self.copy(TableState(database, table, reason=reason))
        if not self._cascades.idle:
            copying = self._copying.copies.tables
            for database, table, where in self._cascades.due(self._output.seconds, copying):
                reason = "foreign keys have changed rows"
                self.copy(TableState(database, table, reason=reason, where=where))
        for event in self._copying.step():
            self._handle(event)
        self.notifications.settle()
        if self._output.seconds - self._last_report >= _REPORT_SECONDS:
            self._report()

    def close(self) -> None:
        """Drop the chunks that were read, and close the connections."""
        self._copying.stop_reading()

    def _handle(self, event: CopyEvent) -> None:
        copy = event.copy
        if isinstance(event, table_copy.CopyStart):
            self._begin(copy.state)
        elif isinstance(event, table_copy.CopyProgress):
            try:
                if self.notifications.wanted:
                    self.notifications.go_on(copy.state, copy.key_texts(event.chunk))
            except table_copy.COPY_ERRORS as error:
                self._fail(copy, error)
        elif isinstance(event, table_copy.CopyEnd):
            self._complete(copy)
        elif isinstance(event, table_copy.CopyFailure):
            self._fail(copy, event.error)
        else:
            self._end_without_table(copy)

    def _begin(self, state: TableState) -> None:
        """Drop the wish for rows that foreign keys changed before the copy of all rows began."""
        self.notifications.begin(state)
        table = state.database, state.table
        if state.where or len(self._copying.copies.of_table(table)) > 1:
            return
        if self._cascades.met(table):
            # Consumers have got rows from the stream that are gone since.
            self._output.put_rows_gone(state.database, state.table)

    def _copy(self, state: TableState) -> TableCopy:
        return TableCopy(state, self._output.watch.table(state.name), self._settings)

    def _end(self, state: TableState) -> None:
        """Drop the running copy of the state, if there is one."""
        copy = self._copying.copies.of_state(state)
        if copy is not None:
            self._copying.drop(copy)
            self._copying.copies.remove(copy)

    def _take_statements(self) -> None:
        """Tell the copies what statements have done to tables."""
        watch = self._output.watch
        if not watch.statements:
            return
        statements, watch.statements = watch.statements, {}
        for (database, table), kind in statements.items():
            if kind is StatementKind.DROP_DATABASE:
                gone = [state for state in self._states.values() if state.database == database]
                watch.published -= {name for name in watch.published if name[0] == database}
            elif kind.ends_tables:
                watch.published.discard((database, table))
                gone = [
                    state
                    for state in self._states.values()
                    if (state.database, state.table) == (database, table)
                ]
            else:
                gone = []
                if kind is StatementKind.CREATE_TABLE and self._keeps_new_tables:
                    self._keep_new(database, table)
            for state in gone:
                if state.under_way:
                    self._log.info("the copy ends: the table is gone", table=state.name)
                self.forget(state)

    def _take_published(self) -> None:
        """Copy tables that were hidden; if the account may not read them, the copy fails."""
        published = self._output.watch.published
        if self._keeps_new_tables:
            for database, table in sorted(published):
                if self.state(database, table) is None:
                    reason = "rows of it came, but it was not to be seen"
                    self.copy(TableState(database, table, reason=reason))
        published.clear()

    def _keep_new(self, database: str, table: str) -> None:
        if self.state(database, table) is None:
            now = self._output.now_ms
            state = TableState(database, table, "complete", "created", ended_at_ms=now)
            self._states[state.key_part] = state
            self._output.put_state(state)

    def _fail(self, copy: TableCopy, error: Exception) -> None:
        state = copy.state
        fails_alone = isinstance(error, TableFenced) or (
            isinstance(error, errors.DefiniteError)
            and error.code.scope is not Scope.PROCESS
            and self._goes_on_without
        )
        asked_for = state.request != NO_REQUEST
        if state.where and not asked_for and isinstance(error, errors.DefiniteError):
            self._log.warning(
                "rows cannot be copied by a condition; all rows of the table are copied",
                table=state.name,
                **errors.fields(error),
            )
            self.forget(state)
            self._cascades.add_all(state.database, state.table)
            return
        if not isinstance(error, errors.DefiniteError) or not (fails_alone or asked_for):
            raise error
        self._end_failed(copy, error)
        self.notifications.end(state, FAILED)

    def _end_without_table(self, copy: TableCopy) -> None:
        """End a copy whose name holds no table, and no statement in the log has dropped one."""
        state = copy.state
        self._log.info("the copy ends: the name holds no table", table=state.name)
        self._output.put_rows_gone(state.database, state.table)
        self.forget(state)

    def _end_failed(self, copy: TableCopy, error: errors.DefiniteError) -> None:
        """Write that a copy has failed: for good, if consumers lack rows by that.

        A request that has taken nothing back is over: who asked reads how it ended, and the copy
        before it counts again.
        """
        state = copy.state
        self._log.error("a copy failed", table=state.name, **errors.fields(error))
        self._end(state)
        is_harmless = state.request != NO_REQUEST and (bool(state.where) or copy.takes_back)
        state.fail(str(error), self._output.now_ms)
        self._output.put_state(state)
        if not is_harmless:
            return
        earlier = state.replaced(state.error)
        if earlier is None:
            self._states.pop(state.key_part, None)
            self._output.forget_state(state)
        else:
            self._states[state.key_part] = earlier
            self._output.put_state(earlier)

    def _fail_whole_table(self, stopped: TableState) -> None:
        """Let the copy of all rows fail, in place of one for rows that foreign keys changed.

        The condition of the `stopped` copy is forgotten, so only all rows of the table bring them.
        """
        self.forget(stopped)
        fresh = TableState(stopped.database, stopped.table, reason=stopped.reason)
        state = self._states.setdefault(fresh.key_part, fresh)
        state.fail(stopped.error, stopped.ended_at_ms)
        self._output.put_state(state)

    def _complete(self, copy: TableCopy) -> None:
        state = copy.state
        self._end(state)
        self._cascades.note_cost((state.database, state.table), copy.cost_seconds)
        state.phase = "complete"
        state.ended_at_ms = self._output.now_ms
        state.ranges = []
        self.notifications.end(state)
        if state.load:
            self._log.info("the Spark job loads the rows of a table", table=state.name)
            return
        self._log.info(
            "copied",
            table=state.name,
            rows=state.rows,
            seconds=round((state.ended_at_ms - state.started_at_ms) / _MS, 1),
        )

    def _report(self) -> None:
        self._last_report = self._output.seconds
        for name, metrics in self.metrics().items():
            if metrics.rows:
                self._log.info(
                    "copying",
                    table=name,
                    rows=metrics.rows,
                    estimated_rows=metrics.estimated_rows,
                    rows_per_second=round(metrics.rows_per_second),
                    eta_seconds=None if metrics.eta_seconds is None else round(metrics.eta_seconds),
                )
