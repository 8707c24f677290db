"""The tables, triggers and functions of a statement, read from a server.

The rules of the log get them as facts. CALL becomes the statements of its procedure, and of the
procedures that this one calls, each with its own facts.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from connector.foundation.errors import ConfigError
from connector.replication.server.identity import version_of
from connector.rules import rules_errors, statement_facts
from connector.rules.functions import unsafe_functions
from connector.rules.procedure_calls import UnrolledCall, UnrolledStatement
from connector.rules.server import engine_of
from connector.rules.sql_parser import BUILT_IN, parse
from connector.rules.statement_text import ParsedStatement, TableName
from connector.rules.unsafe_statements import takes_unsafe_default
from connector.stream.source import stored_programs
from connector.stream.source.select_session import SelectSession
from connector.stream.source.table_facts import ForeignKeyTables, TableFacts

_TEMPORARY: Final = frozenset(
    {statement_facts.Kind.CREATE_TEMPORARY, statement_facts.Kind.CREATE_TEMPORARY_SELECT}
)
_DROPS: Final = frozenset({statement_facts.Kind.DROP_TABLE, statement_facts.Kind.DROP_TEMPORARY})
_EVENTS: Final = {statement_facts.Kind.UPDATE: {"UPDATE"}, statement_facts.Kind.DELETE: {"DELETE"}}
_REPLACES: Final = frozenset({statement_facts.Kind.REPLACE, statement_facts.Kind.REPLACE_SELECT})
_INSERTS: Final = statement_facts.INSERTS | _REPLACES | {statement_facts.Kind.LOAD_DATA}


class StatementTables:
    """Asks one server; `database` is the default one."""

    def __init__(self, session: SelectSession, database: str) -> None:
        self._session = session
        self.database = database
        self.server = version_of(session.identity)
        self._tables = TableFacts(session, self.server)
        self._programs = stored_programs.StoredPrograms(session)
        self._keys = ForeignKeyTables(session)
        # Those that the statements have created so far.
        self._temporary: dict[TableName, statement_facts.Table] = {}

    def facts(self, parsed: ParsedStatement, database: str = "") -> statement_facts.StatementFacts:
        """Return the facts of a statement with all that it invokes.

        Raises ConfigError for what is not understood or not there.
        """
        return self._facts(parsed, database or self.database, 0)

    def procedure(self, parsed: ParsedStatement, default: str) -> stored_programs.StoredProgram:
        """Return the procedure that a CALL names. Raises ConfigError if it cannot be called so."""
        database, name = parsed.called or ("", "")
        shown = f"{database or default}.{name}"
        procedure = self._programs.procedure(database or default, name)
        if procedure is None:
            raise ConfigError(rules_errors.NO_PROCEDURE, server=self._session.name, procedure=shown)
        if procedure.parameters != parsed.arguments:
            raise ConfigError(
                rules_errors.ARGUMENTS, procedure=shown, expected=procedure.parameters
            )
        return procedure

    def _facts(
        self, parsed: ParsedStatement, database: str, depth: int
    ) -> statement_facts.StatementFacts:
        uses, inner = self._of_tables(parsed, database, depth)
        for function in sorted(parsed.functions - BUILT_IN - unsafe_functions(self.server)):
            inner += self._function(("", function), database, depth)
        for stored in sorted(parsed.stored):
            inner += self._function(stored, database, depth)
        if parsed.kind is statement_facts.Kind.CALL:
            # Of a function or a trigger: it is not unrolled.
            inner += self._program(self.procedure(parsed, database), depth)
        facts = statement_facts.StatementFacts(
            parsed.kind,
            tuple(uses),
            parsed.functions_on(self.server),
            parsed.variables,
            # A SELECT gives its LIMIT to the statement that invokes it.
            limit=parsed.limit and (depth > 0 or parsed.kind is not statement_facts.Kind.SELECT),
            ignore=parsed.ignore,
            replace=parsed.replace and parsed.kind is statement_facts.Kind.CREATE_TABLE_SELECT,
            on_duplicate=parsed.on_duplicate,
            listed=frozenset(column.lower() for column in parsed.listed),
            delayed=parsed.delayed,
            skip_locked=parsed.skip_locked,
            nowait=parsed.nowait,
        ).with_sub_statements(inner)
        # Only MariaDB asks it of the tables of triggers and functions, too.
        asked = (
            facts.written if self.server.is_mariadb else [use.table for use in uses if use.writes]
        )
        taken = any(takes_unsafe_default(parsed, table, self.server) for table in asked)
        return replace(facts, unsafe_default=taken)

    def _of_tables(
        self, parsed: ParsedStatement, database: str, depth: int
    ) -> tuple[list[statement_facts.TableUse], list[statement_facts.StatementFacts]]:
        """Return how the tables are used, and the facts of their triggers and views."""
        if parsed.kind in _DROPS:
            return [], []
        if parsed.kind is statement_facts.Kind.DDL:
            # Of other tables, the text is logged, whatever they are.
            name = parsed.altered or ("", "")
            table = self._temporary.get((name[0] or database, name[1]))
            return [statement_facts.TableUse(table, writes=True)] if table else [], []
        uses: list[statement_facts.TableUse] = []
        inner: list[statement_facts.StatementFacts] = []
        if parsed.kind in statement_facts.CREATES_TABLE:
            uses.append(statement_facts.TableUse(self._new_table(parsed, database), writes=True))
        else:
            for name in parsed.written:
                self._add_written(parsed, (name[0] or database, name[1]), uses, inner, depth)
        for name in parsed.read:
            if name != parsed.like and not self._is_computed(name, database):
                view = self._programs.view(name[0] or database, name[1])
                if view is None:
                    uses.append(statement_facts.TableUse(self._table(name, database), reads=True))
                else:
                    inner += self._program(view, depth)
        return uses, inner

    def _is_computed(self, name: TableName, database: str) -> bool:
        """Whether the server makes the rows of a table when it is read, from no other table.

        MySQL 8.0 made tables of information_schema views of its own tables.
        """
        own = (name[0] or database).lower() == "information_schema"
        return own and not self.server.mysql_since(8, 0)

    def _add_written(
        self,
        parsed: ParsedStatement,
        name: TableName,
        uses: list[statement_facts.TableUse],
        inner: list[statement_facts.StatementFacts],
        depth: int,
    ) -> None:
        """Add the table, or those below the view, with their triggers."""
        columns = [column for of, column in parsed.assigned if of[1] == name[1]]
        written = stored_programs.tables_below(self._programs, name, columns)
        joined: tuple[TableName, ...] = ()
        if parsed.kind in _INSERTS:
            # Servers lock each table of a join as one that an INSERT writes.
            joined = written.read
        reads = parsed.kind in (statement_facts.Kind.UPDATE, statement_facts.Kind.DELETE)
        for table in (*written.tables, *joined):
            uses.append(statement_facts.TableUse(self._table(table, ""), writes=True, reads=reads))
            inner += self._triggers(parsed, table, depth)
            inner += self._by_keys(parsed, table)
        if not joined:
            uses += [
                statement_facts.TableUse(self._table(name, ""), reads=True) for name in written.read
            ]
        changed = {use.table.name for use in uses if use.writes}
        for view in written.views:
            for facts in self._program(view, depth):
                # The tables below the view are changed where its SELECT names them.
                only = tuple(use for use in facts.uses if use.table.name not in changed)
                inner.append(replace(facts, uses=only))
            # The list of the columns has the names of the view.
            if parsed.kind in _INSERTS and any(
                column.unsafe_default for use in uses for column in use.table.columns
            ):
                shown = view.shown.partition(" ")[2]
                raise ConfigError(rules_errors.VIEW_NOT_CHANGED, view=shown)

    def _new_table(self, parsed: ParsedStatement, database: str) -> statement_facts.Table:
        name = parsed.written[0]
        temporary = parsed.kind in _TEMPORARY
        if parsed.like is not None:
            table = replace(self._table(parsed.like, database), name=name[1], temporary=temporary)
        else:
            engine = engine_of(parsed.engine or "InnoDB", self.server)
            if engine is None:
                raise ConfigError(rules_errors.ENGINE_UNKNOWN, table=name[1], engine=parsed.engine)
            table = statement_facts.Table(
                name[1],
                engine,
                parsed.columns,
                parsed.unique_keys,
                temporary,
                auto_increment_not_first=parsed.auto_increment_not_first,
            )
        if temporary:
            self._temporary[name[0] or database, name[1]] = table
        return table

    def _table(self, name: TableName, default: str) -> statement_facts.Table:
        full = name[0] or default, name[1]
        return self._temporary.get(full) or self._tables.table(*full)

    def _triggers(
        self, parsed: ParsedStatement, table: TableName, depth: int
    ) -> Iterator[statement_facts.StatementFacts]:
        for trigger in self._programs.triggers(*table, _events(parsed)):
            yield from self._program(trigger, depth)

    def _by_keys(
        self, parsed: ParsedStatement, table: TableName
    ) -> Iterator[statement_facts.StatementFacts]:
        """Yield the tables that foreign keys add, as facts of a statement for each."""
        for name, writes in self._keys.of(table, _events(parsed)):
            use = statement_facts.TableUse(self._table(name, ""), writes=writes, reads=not writes)
            yield statement_facts.StatementFacts(statement_facts.Kind.UPDATE, (use,))

    def _function(
        self, name: TableName, database: str, depth: int
    ) -> Iterator[statement_facts.StatementFacts]:
        stored = self._programs.function(name[0] or database, name[1])
        if stored is not None:
            yield from self._program(stored, depth)
        elif not name[0] and self._programs.is_loadable(name[1]):
            yield statement_facts.StatementFacts(statement_facts.Kind.SELECT, udf=True)
        else:
            shown = ".".join(filter(None, name))
            raise ConfigError(rules_errors.NO_FUNCTION, server=self._session.name, function=shown)

    def _program(
        self, program: stored_programs.StoredProgram, depth: int
    ) -> Iterator[statement_facts.StatementFacts]:
        """Yield the facts of each statement: which of them run does not matter to the decision."""
        for _, statement in stored_programs.parsed_program(program, depth).statements:
            yield self._facts(statement, program.database, depth + 1)


def _events(parsed: ParsedStatement) -> set[str]:
    """Return the events of triggers: INSERT, UPDATE, DELETE."""
    if parsed.kind in _REPLACES or (
        parsed.kind is statement_facts.Kind.LOAD_DATA and parsed.replace
    ):
        return {"INSERT", "DELETE"}
    if parsed.kind in statement_facts.INSERTS | {statement_facts.Kind.LOAD_DATA}:
        return {"INSERT"} | ({"UPDATE"} if parsed.on_duplicate else set())
    return _EVENTS.get(parsed.kind, set())


def unrolled(text: str, tables: StatementTables) -> UnrolledCall:
    """Return the statements of a CALL, or the one statement of another text.

    Raises ConfigError for what is not understood or not there.
    """
    parsed = parse(text)
    if parsed.kind is statement_facts.Kind.CALL:
        return _called(parsed, tables, tables.database, 0)
    return UnrolledCall((UnrolledStatement(text, tables.facts(parsed)),))


def _called(
    parsed: ParsedStatement, tables: StatementTables, database: str, depth: int
) -> UnrolledCall:
    statements: list[UnrolledStatement] = []
    if parsed.functions or parsed.stored:
        # A function of an argument is logged for itself if it changes rows.
        arguments = tables.facts(replace(parsed, kind=statement_facts.Kind.SELECT), database)
        if arguments.written:
            statements.append(UnrolledStatement("the arguments of the CALL", arguments))
    procedure = tables.procedure(parsed, database)
    program = stored_programs.parsed_program(procedure, depth)
    in_order = program.in_order
    for text, statement in program.statements:
        if statement.kind is statement_facts.Kind.CALL:
            inner = _called(statement, tables, procedure.database, depth + 1)
            statements += inner.statements
            in_order &= inner.in_order
            continue
        facts = tables.facts(statement, procedure.database)
        if facts.kind is not statement_facts.Kind.SELECT or facts.written:
            statements.append(UnrolledStatement(text, facts))
    return UnrolledCall(tuple(statements), in_order, called=True)
