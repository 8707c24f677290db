"""Triggers and events through which statements on other tables change followed tables.

With binlog_format ROW the log has the rows that they change, so they matter only for sessions with
another format. Triggers of followed tables do not matter: their statements name a followed table.
A change of a view is one of the table below it. Programs and views are read from
`information_schema`, as far as the account sees them.

https://dev.mysql.com/doc/refman/8.4/en/information-schema-triggers-table.html
https://dev.mysql.com/doc/refman/8.4/en/view-updatability.html
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from connector.binlog.sql_text import TableName
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from connector.replication.server.mysql_server import MysqlServer
from connector.rules.stored_programs import ProgramWrites, names_log_settings, program_writes
from connector.rules.syntax_tree import view_text
from connector.stream.source import table_errors
from connector.stream.source.findings import RowLoggingGap
from connector.stream.source.followed_tables import SYSTEM_LIST

_TRIGGERS: Final = f"""
    SELECT 'trigger' AS kind, trigger_schema AS db, trigger_name AS name,
      event_object_table AS of_table, action_statement AS body
    FROM information_schema.triggers WHERE trigger_schema NOT IN ({SYSTEM_LIST})
"""  # noqa: S608 - constants
_EVENTS: Final = f"""
    SELECT 'event' AS kind, event_schema AS db, event_name AS name, '' AS of_table,
      event_definition AS body
    FROM information_schema.events
    WHERE event_schema NOT IN ({SYSTEM_LIST}) AND status = 'ENABLED'
"""  # noqa: S608 - constants
_ROUTINES: Final = """
    SELECT LOWER(routine_type) AS kind, routine_schema AS db, routine_name AS name, '' AS of_table,
      routine_definition AS body
    FROM information_schema.routines WHERE
"""
_OF_NAMES: Final = f"{_ROUTINES} routine_schema IN ({{databases}}) AND routine_name IN ({{names}})"
_WITH_LOG_SETTINGS: Final = rf"""{_ROUTINES} routine_schema NOT IN ({SYSTEM_LIST}) AND (
      routine_definition LIKE '%sql\_log\_bin%' OR routine_definition LIKE '%binlog\_format%'
      OR routine_definition LIKE '%binlog\_row\_image%')
"""
_VIEWS_OF_NAMES: Final = """
    SELECT 'view' AS kind, table_schema AS db, table_name AS name, '' AS of_table,
      view_definition AS body
    FROM information_schema.views
    WHERE table_schema IN ({databases}) AND table_name IN ({names})
"""
_NAMES_PER_QUERY: Final = 500


@dataclass(frozen=True, slots=True)
class Program:
    """A trigger, an event, a routine or a view; `body` is None, of a view "", if it is hidden."""

    kind: str
    database: str
    name: str
    table: str  # of a trigger; "" for others
    body: str | None


def _named(server: MysqlServer, query: str, names: Iterable[TableName]) -> list[Program]:
    """Return what `query` has with these names, and maybe more."""
    wanted = sorted(names)
    programs: list[Program] = []
    for begin in range(0, len(wanted), _NAMES_PER_QUERY):
        some = wanted[begin : begin + _NAMES_PER_QUERY]
        databases = sorted({database for database, _ in some})
        own = sorted({name for _, name in some})
        of_names = query.format(
            databases=", ".join(["%s"] * len(databases)), names=", ".join(["%s"] * len(own))
        )
        programs += _programs(server, of_names, [*databases, *own])
    return programs


def _programs(server: MysqlServer, query: str, values: Iterable[str] = ()) -> list[Program]:
    return [
        Program(
            str(row["kind"]),
            str(row["db"]),
            str(row["name"]),
            str(row["of_table"]),
            None if row["body"] is None else str(row["body"]),
        )
        for row in server.query(query, list(values))
    ]


_DEPTH_MAX: Final = 8
_BODY_MAX: Final = 64 * 1024
_TEXT: Final = "R-log-statement-format"


def program_gaps(
    server: MysqlServer, tables: TableFilter, databases: AbstractSet[str]
) -> Iterator[RowLoggingGap]:
    """Yield what programs change besides what statements name.

    `databases` have followed tables. Raises SourceUnavailable or SourceRefused.
    """
    gaps: dict[str, list[tuple[str, str]]] = {}
    programs = [*_programs(server, _TRIGGERS), *_programs(server, _EVENTS)]
    others = [program for program in programs if _is_elsewhere(program, tables)]
    for program, writes in _Writes(server).of(others):
        followed = sorted(".".join(name) for name in writes.tables if tables.follows(*name))
        if followed:
            code = table_errors.PROGRAMS
            if (
                server.identity.flavour == "mariadb"
                and program.kind == "trigger"
                and not tables.may_follow_database(program.database)
            ):
                code = table_errors.UNSEEN_PROGRAMS
            gaps.setdefault(code.code, []).append(
                (_program_name(program), f"writes {', '.join(followed)}")
            )
        elif any(_may_write(statement, databases) for statement in writes.unknown):
            code = table_errors.UNKNOWN_PROGRAMS
            gaps.setdefault(code.code, []).append((_program_name(program), ""))
    for code in (
        table_errors.PROGRAMS,
        table_errors.UNSEEN_PROGRAMS,
        table_errors.UNKNOWN_PROGRAMS,
    ):
        if code.code in gaps:
            yield RowLoggingGap(_TEXT, Message(code, {}), tuple(sorted(gaps[code.code])))
    setting = sorted(
        (_program_name(program), "")
        for program in (*programs, *_programs(server, _WITH_LOG_SETTINGS))
        if names_log_settings(program.body or "") and _writes(program).log_settings
    )
    if setting:
        problem = Message(table_errors.OTHER_FORMAT_IN_PROGRAMS, {})
        yield RowLoggingGap("sql_log_bin", problem, tuple(setting))


def _is_elsewhere(program: Program, tables: TableFilter) -> bool:
    """Return whether a statement can start the program without naming a followed table."""
    if program.kind == "trigger":
        return not tables.follows(program.database, program.table)
    return not tables.may_follow_database(program.database)


def _may_write(statement: str, databases: AbstractSet[str]) -> bool:
    """Return whether a statement that is not understood can write a table of the databases."""
    words = statement.lower()
    return not words or any(database.lower() in words for database in databases)


def _program_name(program: Program) -> str:
    shown = f"{program.kind} {program.database}.{program.name}"
    return f"{shown} on {program.table}" if program.table else shown


def _writes(program: Program) -> ProgramWrites:
    """Return what a program writes and calls; names have the database of the program."""
    if program.body is None or len(program.body) > _BODY_MAX:
        return ProgramWrites(unknown=[""])
    writes = program_writes(program.body)

    def resolved(names: Iterable[TableName]) -> set[TableName]:
        return {(database or program.database, name) for database, name in names}

    return ProgramWrites(
        resolved(writes.tables),
        resolved(writes.procedures),
        resolved(writes.functions),
        log_settings=writes.log_settings,
        # Names without a database are in that of the program.
        unknown=[f"{program.database} {text}" if text else "" for text in writes.unknown],
    )


def _through(view: Program) -> ProgramWrites:
    """Return what a change of the view changes; of a join, nobody but the statement knows."""
    body = view.body or ""
    tables: tuple[TableName, ...] = ()
    if len(body) <= _BODY_MAX:
        with suppress(ConfigError):
            tables = view_text(body).tables
    return ProgramWrites(set(tables)) if len(tables) == 1 else ProgramWrites(unknown=[body])


class _Writes:
    """What programs write together with the routines that they call, also through views."""

    def __init__(self, server: MysqlServer) -> None:
        self._server = server
        self._lower_case = server.variable("lower_case_table_names") == "1"
        self._views: dict[TableName, ProgramWrites] = {}
        # By the name in small letters, because the names of routines have no case.
        self._procedures: dict[TableName, ProgramWrites] = {}
        self._functions: dict[TableName, ProgramWrites] = {}

    def of(self, programs: list[Program]) -> Iterator[tuple[Program, ProgramWrites]]:
        """Yield each program with what it writes."""
        own = [(program, _writes(program)) for program in programs]
        self._read([writes for _, writes in own])
        whole = [(program, self._with_routines(writes)) for program, writes in own]
        self._read_views({name for _, writes in whole for name in writes.tables})
        for program, writes in whole:
            yield program, self._below_views(writes)

    def _read(self, callers: list[ProgramWrites]) -> None:
        """Read the routines that are called, and those that they call."""
        asked: set[TableName] = set()
        for _ in range(_DEPTH_MAX):
            names = {
                _key(name) for writes in callers for name in writes.procedures | writes.functions
            } - asked
            if not names:
                return
            asked |= names
            callers = []
            for routine in _named(self._server, _OF_NAMES, names):
                known = self._functions if routine.kind == "function" else self._procedures
                writes = known[_key((routine.database, routine.name))] = _writes(routine)
                callers.append(writes)

    def _read_views(self, names: set[TableName]) -> None:
        """Read the views among `names`, and those below them."""
        asked: set[TableName] = set()
        while names := {self._table(name) for name in names} - asked:
            asked |= names
            views = _named(self._server, _VIEWS_OF_NAMES, names)
            names = set()
            for view in views:
                writes = self._views[self._table((view.database, view.name))] = _through(view)
                names |= writes.tables

    def _below_views(self, writes: ProgramWrites) -> ProgramWrites:
        whole = ProgramWrites(unknown=list(writes.unknown))
        waiting, done = list(writes.tables), set[TableName]()
        while waiting:
            name = self._table(waiting.pop())
            if name in done:
                continue
            done.add(name)
            view = self._views.get(name)
            if view is None:
                whole.tables.add(name)
            else:
                waiting += view.tables
                whole.unknown += view.unknown
        return whole

    def _table(self, name: TableName) -> TableName:
        """Return the name as the server compares it."""
        return (name[0].lower(), name[1].lower()) if self._lower_case else name

    def _with_routines(self, writes: ProgramWrites) -> ProgramWrites:
        whole = ProgramWrites(set(writes.tables), unknown=list(writes.unknown))
        waiting, done = [writes], set[int]()
        while waiting:
            caller = waiting.pop()
            called = [self._procedures.get(_key(name)) for name in caller.procedures]
            # A function that is not stored is built in, and writes nothing.
            functions = [self._functions.get(_key(name)) for name in caller.functions]
            for routine in [*called, *filter(None, functions)]:
                if routine is None:
                    whole.unknown.append("")
                elif id(routine) not in done:
                    done.add(id(routine))
                    waiting.append(routine)
                    whole.tables |= routine.tables
                    whole.unknown += routine.unknown
        return whole


def _key(name: TableName) -> TableName:
    return name[0], name[1].lower()
