"""Tables of other programs, one after the other: what `verify --table` calls."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.settings.sections import (
    RetrySettings,
    SnapshotSettings,
    SourceSettings,
)
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.source.select_session import SelectSession
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.foreign_check import ForeignCheck, ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.guess import MappingGuess, require_rows
from verification.foreign.noted_moments import NotedMoments
from verification.foreign.settlement import Sides
from verification.foreign.source_log import SourceLog
from verification.foreign.source_rows import SourceRows
from verification.foreign.table_choice import TableChoice, matching
from verification.patience import Patience
from verification.same_server import SameServer
from verification.source_moment import SourceMoment, read_moment
from verification.source_table import altered_error

Show = Callable[[str, int, int], None]


class OneTable(NamedTuple):
    """One table that is compared."""

    settings: SourceSettings
    source: SourceRows
    choice: TableChoice
    limits: ForeignLimits
    moments: NotedMoments
    result: ForeignResult  # to be filled

    @property
    def name(self) -> str:
        """`database.table`."""
        return self.choice.name


def compare(table: OneTable, show: Show) -> None:
    """Compare a table with its target. Raises the errors of reading."""
    settings, source, choice, limits, moments, result = table
    require_rows(source)
    at = moments.now()
    target = choice.opened()
    patience = source.patience.for_target()

    def guessed() -> ColumnMapping:
        result.state = target.refresh()
        return MappingGuess(source, target, choice).mapping()

    try:
        result.mapping = mapping = patience.again(guessed)
        log = SourceLog(settings, source, mapping, limits.lag_seconds)
        sides = Sides(source, target, mapping, log, patience)
        ForeignCheck(
            sides, limits, result, lambda done, total: show(choice.name, done, total)
        ).run()
        result.through = moments.through(at, result.lacking)
    finally:
        target.close()


def verify_tables(
    source: SourceSettings,
    tables: Sequence[TableChoice],
    limits: ForeignLimits,
    show: Show,
    compared: Callable[[OneTable, Show], None] = compare,
) -> Iterator[ForeignResult]:
    """Compare tables of `source` with tables that other programs have made; yield each result.

    `show` gets a table, the rows that were read of both sides, and about how many there are.
    `compared` fills the result of one table, and raises why it cannot be compared. This
    raises ConfigError for choices that do not fit, and the errors of connecting.
    """
    settings = SnapshotSettings(pace=limits.pace)
    pace = SourcePace(settings, limits.rows_per_second)
    patience = Patience(RetrySettings(), limits.patience_seconds)
    server = SameServer(lambda: SelectSession(source, settings.statement_seconds_max))
    with server.open_session() as session:
        choices = list(matching(session, tables))

    def read_now() -> SourceMoment:
        with server.open_session() as session:
            return read_moment(session)

    moments = NotedMoments(lambda: patience.again(read_now))
    for choice in choices:
        result = ForeignResult(choice.name, choice.shown_target)
        began = time.monotonic()
        try:
            # Each table has a session of its own: if one breaks, the next table can be compared.
            name = choice.database, choice.table
            with patience.again(partial(SourceRows, server, patience, name, pace)) as rows:
                try:
                    compared(OneTable(source, rows, choice, limits, moments, result), show)
                except ConnectorError as error:
                    if error.code is foreign_errors.TABLE_CHANGED:
                        raise
                    raise altered_error(rows.session, rows.selected, error) from error
        except ConfigError:
            raise
        except ConnectorError as error:
            result.error = error
        result.seconds = time.monotonic() - began
        yield result
