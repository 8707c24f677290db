"""Tables of other programs, many at the same time: what `verify --table` calls.

Most of its time, a table waits: for its turn to read the source, for the log, or for a target that
lags. So many are compared at once, and one reading of the log serves all that wait for it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.stream.snapshot.table_plan import STATISTICS
from connector.stream.source import information_schema
from connector.stream.source.select_session import SelectSession
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.foreign_check import ForeignCheck, ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.guess import MappingGuess, require_rows
from verification.foreign.settlement import Sides
from verification.foreign.shared_log import SharedLog
from verification.foreign.source_log import SourceLog
from verification.foreign.source_rows import SourceRows
from verification.foreign.source_server import SourceServer
from verification.foreign.table_choice import TableChoice, matching
from verification.run_progress import RunProgress
from verification.source_table import altered_error
from verification.table_definitions import TableName
from verification.table_queue import QueuedTable, Size, TableQueue

Show = Callable[[int, int], None]
# The source says that such a table has no more rows.
_SMALL_ROWS: Final = 2_000
_MEDIUM_ROWS: Final = 200_000
# More tables do not wait for their turn.
_WAITING_MAX: Final = 200
_TABLES_OF_A_QUERY: Final = 500


class OneTable(NamedTuple):
    """One table that is compared."""

    source: SourceRows
    log: SharedLog
    choice: TableChoice
    limits: ForeignLimits
    result: ForeignResult  # to be filled
    show: Show  # gets the rows that were read of both sides, and about how many there are


def compare(table: OneTable) -> None:
    """Compare a table with its target. Raises the errors of reading."""
    source, choice, limits, result = table.source, table.choice, table.limits, table.result
    require_rows(source)
    moments = source.server.moments
    at = moments.now()
    target = choice.opened()
    patience = source.patience.for_target()

    def guessed() -> ColumnMapping:
        result.state = target.refresh()
        return MappingGuess(source, target, choice).mapping()

    try:
        result.mapping = mapping = patience.again(guessed)
        log = SourceLog(table.log, source, mapping)
        sides = Sides(source, target, mapping, log, patience)
        ForeignCheck(sides, limits, result, table.show).run()
        # Before the first change that the log says is lacking, there may be others.
        if not (result.lacking and log.lacks_changes):
            result.through = moments.through(at, result.lacking)
    finally:
        target.close()


def verify_tables(
    source: SourceSettings,
    tables: Sequence[TableChoice],
    limits: ForeignLimits,
    progress: RunProgress,
    compared: Callable[[OneTable], None] = compare,
    *,
    has_snapshots: bool = False,
) -> list[ForeignResult]:
    """Compare tables of `source` with tables that other programs have made.

    Return the results in the order of `tables`. `compared` fills the result of one table, in a
    thread, and raises why it cannot be compared; if it `has_snapshots`, it opens connections of its
    own. This raises ConfigError for choices that do not fit, and the errors of connecting.
    """
    settings = SnapshotSettings(pace=limits.pace)
    found: dict[int, ForeignResult] = {}
    with SourceServer(source, settings, limits.patience_seconds, limits.rows_per_second) as server:
        run = TablesRun(SharedLog(server, limits.lag_seconds), limits, progress.read)
        choices = list(matching(server.session, tables))
        estimates = estimated_rows(server.session, choices)
        progress.begin(len(choices))
        with TableQueue[int, ForeignResult]() as queue:
            for number, choice in enumerate(choices):
                rows = estimates.get((choice.database, choice.table), 0)
                size = size_of(rows, is_alone=has_snapshots or choice.is_of_server)
                queue.add(number, size, partial(run.result, choice, compared))
                found |= _ended(queue.ended(_WAITING_MAX), choices, progress)
            found |= _ended(queue.ended(0), choices, progress)
    return [found[number] for number in sorted(found)]


def _ended(
    ended: Iterator[QueuedTable[int, ForeignResult]],
    choices: Sequence[TableChoice],
    progress: RunProgress,
) -> dict[int, ForeignResult]:
    """Return results by the numbers of their choices; raises what a comparison has raised."""
    found = {}
    for number, _, compared in ended:
        result = found[number] = compared.result()
        progress.end(choices[number].title, result.rows + result.target_rows)
    return found


def size_of(rows: int, *, is_alone: bool) -> Size:
    """Return what a table of about so many rows needs, with connections of its own or without."""
    if rows <= _SMALL_ROWS and not is_alone:
        return "small"
    return "medium" if rows <= _MEDIUM_ROWS else "large"


class TablesRun(NamedTuple):
    """What the tables of one run share."""

    log: SharedLog
    limits: ForeignLimits
    show: Callable[
        [str, int, int], None
    ]  # gets the title of a table, and what `OneTable.show` gets

    def result(self, choice: TableChoice, compared: Callable[[OneTable], None]) -> ForeignResult:
        """Compare a table; `compared` fills the result, and raises why it cannot be compared.

        Raises ConfigError for a choice that does not fit.
        """
        server, result = self.log.server, ForeignResult(choice.name, choice.shown_target)

        def show(done: int, total: int) -> None:
            server.require_open()
            self.show(choice.title, done, total)

        began = time.monotonic()
        try:
            rows = SourceRows(server, (choice.database, choice.table))
            try:
                compared(OneTable(rows, self.log, choice, self.limits, result, show))
            except ConnectorError as error:
                if error.code is foreign_errors.TABLE_CHANGED:
                    raise
                raise altered_error(server.session, rows.selected, error) from error
        except ConfigError:
            raise
        except ConnectorError as error:
            result.error = error
        result.seconds = time.monotonic() - began
        return result


def estimated_rows(session: SelectSession, choices: Sequence[TableChoice]) -> dict[TableName, int]:
    """Return about how many rows the tables have. Raises the errors of the session."""
    names = list(dict.fromkeys((choice.database, choice.table) for choice in choices))
    found = {}
    for start in range(0, len(names), _TABLES_OF_A_QUERY):
        some = names[start : start + _TABLES_OF_A_QUERY]
        for database, tables in information_schema.by_database(some).items():
            rows = information_schema.rows_by_table(session, STATISTICS, "1", database, tables)
            for table, (own, *_) in rows.items():
                found[database, table] = int(own["estimated"] or 0)
    return found
