"""The triggers, routines and views that a statement invokes, read from a server and parsed.

A statement that changes a view changes the tables below it.

https://dev.mysql.com/doc/refman/8.4/en/information-schema-routines-table.html
https://dev.mysql.com/doc/refman/8.4/en/view-updatability.html
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from connector.binlog.sql_text import sql_text
from connector.foundation.errors import ConfigError, SourceRefused
from connector.rules import rules_errors
from connector.rules.sql_parser import parse
from connector.rules.statement_text import ParsedStatement, TableName
from connector.rules.stored_programs import split_program
from connector.rules.syntax_tree import view_text
from connector.stream.source.select_session import SelectSession


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A program that a statement invokes; names in it without a database are in `database`."""

    shown: str
    database: str
    body: str | None  # None for an account that may not read it
    updatable: bool = False  # a view through which rows can be changed
    parameters: int = 0  # of a procedure


class StoredPrograms:
    """Asks one server."""

    def __init__(self, session: SelectSession) -> None:
        self._session = session

    def triggers(
        self, database: str, table: str, events: AbstractSet[str]
    ) -> Iterator[StoredProgram]:
        """Yield the triggers of a table for these events."""
        rows = self._session.query(
            "SELECT trigger_name AS name, event_manipulation AS event, action_statement AS body "  # noqa: S608 - quoted
            f"FROM information_schema.triggers WHERE event_object_schema = {sql_text(database)} "
            f"AND event_object_table = {sql_text(table)}"
        )
        for row in rows:
            if row["event"] in events:
                yield StoredProgram(f"trigger {database}.{row['name']}", database, row["body"])

    def view(self, database: str, name: str) -> StoredProgram | None:
        """Return the view of that name, or None."""
        rows = self._session.query(
            "SELECT view_definition AS body, is_updatable AS updatable "  # noqa: S608 - quoted
            "FROM information_schema.views "
            f"WHERE table_schema = {sql_text(database)} AND table_name = {sql_text(name)}"
        )
        for row in rows:
            # The text is empty for an account without SHOW VIEW.
            body = row["body"] or None
            return StoredProgram(
                f"view {database}.{name}", database, body, row["updatable"] == "YES"
            )
        return None

    def function(self, database: str, name: str) -> StoredProgram | None:
        """Return the stored function of that name, or None."""
        return self._routine("FUNCTION", database, name)

    def procedure(self, database: str, name: str) -> StoredProgram | None:
        """Return the procedure of that name, or None."""
        return self._routine("PROCEDURE", database, name)

    def _routine(self, kind: str, database: str, name: str) -> StoredProgram | None:
        where = f"routine_schema = {sql_text(database)} AND routine_name = {sql_text(name)}"
        rows = self._session.query(
            "SELECT routine_definition AS body, specific_name AS unique_name "  # noqa: S608 - quoted
            f"FROM information_schema.routines WHERE routine_type = '{kind}' AND {where}"
        )
        for row in rows:
            ((counted,),) = [
                tuple(answer.values())
                for answer in self._session.query(
                    "SELECT COUNT(*) AS n FROM information_schema.parameters "  # noqa: S608 - quoted
                    f"WHERE specific_schema = {sql_text(database)} "
                    f"AND specific_name = {sql_text(row['unique_name'] or '')} "
                    f"AND routine_type = '{kind}' AND ordinal_position > 0"
                )
            ]
            shown = f"{kind.lower()} {database}.{name.lower()}"
            return StoredProgram(shown, database, row["body"], parameters=int(counted or 0))
        return None

    def is_loadable(self, name: str) -> bool:
        """Return whether the function is a UDF, as far as the account may know."""
        try:
            return bool(
                self._session.query(
                    f"SELECT 1 FROM mysql.func WHERE name = {sql_text(name.lower())}"  # noqa: S608 - quoted
                )
            )
        except SourceRefused:
            return False


_DEPTH_MAX: Final = 8
# What the rest of a program leaves in the log is decided by these, and by their values.
_DECISIVE: Final = frozenset(
    {
        "autocommit",
        "binlog_direct_non_transactional_updates",
        "binlog_format",
        "sql_log_bin",
        "transaction",
        "transaction_isolation",
        "tx_isolation",
    }
)


@dataclass(frozen=True, slots=True)
class ParsedProgram:
    """The statements with their texts, and whether each runs once, in this order."""

    statements: tuple[tuple[str, ParsedStatement], ...]
    in_order: bool


def parsed_program(stored: StoredProgram, depth: int) -> ParsedProgram:
    """Return the statements of a program that `depth` others have invoked.

    Raises ConfigError for a program that is hidden or not understood.
    """
    refused = ConfigError(rules_errors.PROGRAM_NOT_UNDERSTOOD, program=stored.shown)
    if stored.body is None or depth >= _DEPTH_MAX:
        raise refused
    try:
        program = split_program(stored.body)
        statements = tuple((text, parse(text)) for text in program.statements)
    except ConfigError as error:
        raise refused from error
    if any(parsed.settings & _DECISIVE for _, parsed in statements):
        raise refused
    return ParsedProgram(statements, program.in_order)


@dataclass(frozen=True, slots=True)
class ViewTables:
    """The tables below a view: which are changed, which only read, and the views themselves."""

    tables: tuple[TableName, ...]
    read: tuple[TableName, ...] = ()
    views: tuple[StoredProgram, ...] = ()


def tables_below(programs: StoredPrograms, name: TableName, columns: Iterable[str]) -> ViewTables:
    """Return the tables for a change of these columns; `name` has its database.

    A name that is no view is its own table. Raises ConfigError for a view that cannot be changed
    so, and for one whose text is not understood.
    """
    view = programs.view(*name)
    if view is None:
        return ViewTables((name,))
    refused = ConfigError(rules_errors.VIEW_NOT_CHANGED, view=".".join(name))
    if not view.updatable or view.body is None:
        raise refused
    text = view_text(view.body)
    wanted: dict[TableName, list[str]] = {}
    for column in columns:
        if column.lower() not in text.columns:
            raise refused
        table, inner = text.columns[column.lower()]
        wanted.setdefault(table, []).append(inner)
    if not wanted and len(text.tables) > 1:
        raise refused
    changed = wanted or text.tables
    below = [tables_below(programs, table, wanted.get(table, [])) for table in changed]
    others = [table for table in text.tables if table not in changed]
    return ViewTables(
        tuple(dict.fromkeys(table for nested in below for table in nested.tables)),
        (*others, *(table for nested in below for table in nested.read)),
        (view, *(inner_view for nested in below for inner_view in nested.views)),
    )
