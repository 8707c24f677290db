"""The copies of one pipeline: which tables there are to copy, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from connector.changes.statement import StatementKind
from connector.errors import DefiniteError, UnsupportedChange, fields
from connector.quarantine.core.copied_rows import TableFenced
from connector.snapshot.copy_scheduler import CopyScheduler
from connector.snapshot.table_copy import TableCopy
from connector.snapshot.table_state import NO_REQUEST, TableState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from connector.errors import ConnectorError
    from connector.metrics.figures import CopyFigures
    from connector.settings.sections import SnapshotSettings
    from connector.snapshot.output import CopyOutput
    from connector.snapshot.reader_pool import ReaderPool
    from connector.snapshot.wanted_copies import WantedCopies

# While rows are under way, and while there is nothing to do.
_BUSY_PATIENCE_SECONDS = 0.005
_IDLE_PATIENCE_SECONDS = 0.2
_REPORT_SECONDS = 30.0
_MS = 1000


class Copies:
    """Copies tables; an `Attendant`."""

    def __init__(
        self,
        output: CopyOutput,
        open_readers: Callable[[], ReaderPool],
        lift_fences: Callable[[str, str], None],
        wanted: WantedCopies,
        settings: SnapshotSettings,
        states: Iterable[TableState],
        *,
        keeps_new_tables: bool,
        goes_on_without: bool,
    ) -> None:
        """Go on with `states`; `lift_fences` is called with a table that is copied from new.

        `wanted` says which tables the stream wants copied anew.
        `keeps_new_tables`: a table that the stream sees created needs no copy, and its state says
        so. `goes_on_without`: a table whose rows have no form in the envelope fails alone.
        """
        self._log = structlog.get_logger()
        self._output = output
        self._lift_fences = lift_fences
        self._wanted = wanted
        self._settings = settings
        self._keeps_new_tables = keeps_new_tables
        self._goes_on_without = goes_on_without
        self._states = {state.key_part: state for state in states}
        self._copying = CopyScheduler(
            output, open_readers, settings, self._take_back, self._complete, self._fail
        )
        self._copying.copies += [
            self._copy(state) for state in self._states.values() if state.under_way
        ]
        self._last_report = output.seconds

    @property
    def wants_turn(self) -> bool:
        """Whether something is to be written now."""
        return self._copying.wants_turn

    @property
    def holds_stream(self) -> bool:
        """Whether the stream has to stand still where it is."""
        return self._copying.holds_stream

    @property
    def patience_seconds(self) -> float:
        """How long the stream may be waited for."""
        return _BUSY_PATIENCE_SECONDS if self._copying.copies else _IDLE_PATIENCE_SECONDS

    def state(self, database: str, table: str) -> TableState | None:
        """Return how far the copy of all rows of a table is; None where nothing is known."""
        return self._states.get(f"{database}.{table}")

    def figures(self) -> Mapping[str, CopyFigures]:
        """Return how far the copies under way are, by table."""
        now = self._output.seconds
        return {copy.state.name: copy.figures(now) for copy in list(self._copying.copies)}

    def copy(
        self, database: str, table: str, reason: str, *, request: int = NO_REQUEST, where: str = ""
    ) -> None:
        """Copy a table from the beginning; what consumers have of it is gone.

        Of a table that was asked for, it is gone once the table was found. With `where`, only rows
        that meet it are copied, over what consumers have.
        """
        fresh = TableState(database, table, reason=reason, request=request, where=where)
        known = self._states.get(fresh.key_part)
        if known is not None:
            self._end(known)
            if known.under_way:
                # Whoever asked for it still waits.
                fresh.request = max(request, known.request)
        self._states[fresh.key_part] = fresh
        copy = self._copy(fresh)
        copy.takes_back = request != NO_REQUEST and not where
        self._copying.copies.append(copy)
        if not where and not copy.takes_back:
            self._take_back(fresh)
        self._output.put_state(fresh)
        self._log.info("a table is to be copied", table=fresh.name, reason=reason)

    def refuse(self, state: TableState, error: ConnectorError) -> None:
        """Write that a copy has failed by `error` before it began."""
        self._log.error("a copy failed", table=state.name, **fields(error))
        self._output.put_state(state)

    def forget(self, state: TableState) -> None:
        """Drop what is known of a table, and its copy."""
        self._end(state)
        self._states.pop(state.key_part, None)
        self._output.forget_state(state)

    def step(self) -> None:
        """Take note of what the stream did to tables, then copy."""
        self._take_statements()
        self._take_published()
        for database, table, reason in self._wanted.take():
            self.copy(database, table, reason)
        self._copying.step()
        if self._output.seconds - self._last_report >= _REPORT_SECONDS:
            self._report()

    def close(self) -> None:
        """Give up what was read, and end the connections."""
        self._copying.stop_reading()

    def _take_back(self, state: TableState) -> None:
        """Write that what consumers have of a table is gone, since all of it comes anew."""
        self._output.put_rows_gone(state.database, state.table)
        self._lift_fences(state.database, state.table)

    def _copy(self, state: TableState) -> TableCopy:
        return TableCopy(state, self._output.watch.table(state.name), self._settings)

    def _end(self, state: TableState) -> None:
        """Give up the copy that is under way, if there is one."""
        for copy in self._copying.copies:
            if copy.state is state:
                self._copying.drop(copy)
                self._copying.copies.remove(copy)
                return

    def _take_statements(self) -> None:
        """Let the copies know what statements have done to tables."""
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

    def _fail(self, copy: TableCopy, error: Exception) -> None:
        state = copy.state
        kept_back = isinstance(error, TableFenced) or (
            isinstance(error, UnsupportedChange) and self._goes_on_without
        )
        asked_for = state.request != NO_REQUEST
        if not isinstance(error, DefiniteError) or not (kept_back or asked_for):
            raise error
        self._log.error("a copy failed", table=state.name, **fields(error))
        self._end(state)
        state.phase = "failed"
        state.error = str(error)
        state.ended_at_ms = self._output.now_ms
        self._output.put_state(state)

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
