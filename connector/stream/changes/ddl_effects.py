"""DDL becomes its effects on the followed tables that it names.

A statement that writes no row events does one of three things to rows: they are gone (the kind of
the change says so), they stay and get columns (`column_defaults`), or the log does not say
(`resync` holds the reason). In the last case the table must be copied again. For ALTER TABLE,
`resync_rules` decides between the last two. After a statement that may be about a temporary table,
the tables of its names are copied again.
"""

from connector.binlog.sql_text import TableName
from connector.binlog.statement import Statement, StatementKind, classify, session_syntax
from connector.binlog.table_filter import TableFilter, named_after
from connector.stream.changes.column_defaults import AddedColumn, added_columns
from connector.stream.changes.column_lists import PublishedColumns
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.resync_rules import may_zero_dates, unsafe_clause
from connector.stream.changes.transaction import LoggedStatement, StatementChange

# After this clause the rows of a table cannot be read until others are imported.
_DISCARD_TABLE = "DISCARD TABLESPACE"
# The same for a partition; IMPORT PARTITION brings the table's rows up to date.
_DISCARD_PARTITION = "DISCARD PARTITION"


def statement_changes(
    statement: Statement,
    logged: LoggedStatement,
    tables: TableFilter,
    online: OnlineSchemaChanges,
    columns: PublishedColumns,
    mode: int,
    *,
    in_doubt: bool = False,
) -> list[StatementChange]:
    """Return the effects of `statement`, whose names are resolved, on `tables`.

    `logged` is the same in the log. It ran in the sql_mode `mode`; `columns` are what consumers
    know. `online` is updated with the meaning of the statement for online schema changes.
    `in_doubt` says that it may be about temporary tables.
    """
    collector = _Effects(tables, online, columns, logged.query, mode)
    if in_doubt:
        collector.take_in_doubt(statement)
    else:
        collector.take(statement, logged.event.header.timestamp)
    return [
        StatementChange(logged, kind, name[0], name[1], added, resync)
        for kind, name, added, resync in collector.effects
    ]


class _Effects:
    """Collects the effects of a statement on each table."""

    def __init__(
        self,
        tables: TableFilter,
        online: OnlineSchemaChanges,
        columns: PublishedColumns,
        query: str,
        mode: int,
    ) -> None:
        self._tables = tables
        self._online = online
        self._columns = columns
        self._query = query
        self._mode = mode
        self.effects: list[tuple[StatementKind, TableName, list[AddedColumn], str]] = []

    def take(self, statement: Statement, timestamp: int) -> None:
        kind = statement.kind
        names = statement.tables
        if kind in (StatementKind.CREATE_DATABASE, StatementKind.DROP_DATABASE):
            self._database(kind, names[0])
        elif kind is StatementKind.CREATE_TRIGGER:
            for name in names:
                self._online.create_trigger(name, statement.trigger)
        elif kind is StatementKind.DROP_TRIGGER:
            for database, _ in names:
                self._online.drop_trigger(database, statement.trigger)
        elif kind is StatementKind.ALTER_TABLE:
            self._alter(statement, timestamp)
        elif kind is StatementKind.RENAME_TABLE:
            self._rename(statement)
        else:
            for name in names:
                self._table(kind, name, statement.verb)

    def take_in_doubt(self, statement: Statement) -> None:
        """Take a statement that may be about temporary tables."""
        kind, what = statement.kind, statement.kind.value
        if kind is StatementKind.RENAME_TABLE:
            # After a cut-over, the tables are known: the stream has seen them created.
            self._rename(statement)
            kind = StatementKind.DROP_TABLE
        elif kind is StatementKind.INDEX:
            what = f"{statement.verb} INDEX"
        known = [
            effect for effect in self.effects if effect[3] or effect[0] is StatementKind.ALTER_TABLE
        ]
        self.effects = []
        names = {name for _, name, _, _ in known}
        for name in dict.fromkeys(statement.tables):
            if name in names:
                continue
            self._forget(name)
            if self._tables.follows(*name):
                self._found(kind, name, resync=f"{what}, maybe of a temporary table")
        self.effects += known

    def _database(self, kind: StatementKind, name: TableName) -> None:
        if kind is StatementKind.DROP_DATABASE:
            self._online.forget_database(name[0])
        if self._tables.may_follow_database(name[0]):
            self._found(kind, name)

    def _table(self, kind: StatementKind, name: TableName, verb: str) -> None:
        if not self._tables.follows(*name):
            if kind is StatementKind.INDEX:
                self._online.add_key(name)
            else:
                self._forget(name)
            if kind is StatementKind.CREATE_TABLE:
                self._online.create_table(name)
            return
        if kind is StatementKind.DML:
            # CREATE TABLE … SELECT; no other change that is logged as a statement gets here.
            self._found(StatementKind.CREATE_TABLE, name, resync=f"{verb}, logged as a statement")
        elif kind is StatementKind.CREATE_TABLE:
            if self._online.replaced(name):
                # A table that gh-ost had put aside must not return under this name.
                self._found(StatementKind.DROP_TABLE, name)
            self._found(kind, name)
        elif kind is StatementKind.INDEX:
            rebuilt = may_zero_dates(self._columns.known(*name), self._mode)
            why = f"{verb} INDEX outside strict mode" if rebuilt else ""
            self._found(kind, name, resync=why)
        else:
            self._online.forget(name)
            self._found(kind, name)

    def _alter(self, statement: Statement, timestamp: int) -> None:
        renames = [(old, new) for old, new in statement.renames if old != new]
        altered = statement.tables[0] if statement.tables else None
        for name in dict.fromkeys(statement.tables):
            if any(name == new for _, new in renames):
                continue
            if self._tables.follows(*name):
                is_renamed = any(name == old for old, _ in renames)
                self._alter_followed(name, statement, timestamp, is_renamed=is_renamed)
            elif name == altered and self._may_be_copy(name):
                added = added_columns(statement, timestamp)
                self._online.alter(name, added, self._query, self._mode)
                if any(token.is_word("UNIQUE", "PRIMARY") for token in statement.tokens):
                    self._online.add_key(name)
        if renames:
            self._rename(statement)

    def _alter_followed(
        self, name: TableName, statement: Statement, timestamp: int, *, is_renamed: bool
    ) -> None:
        clause = statement.replaces_rows
        if not clause and not is_renamed:
            clause = unsafe_clause(statement.tokens, self._columns.known(*name), self._mode)
        if clause == _DISCARD_TABLE:
            self._online.forget(name)
            self._found(StatementKind.TRUNCATE, name)
        elif clause and clause != _DISCARD_PARTITION:
            self._online.forget(name)
            self._found(statement.kind, name, resync=f"ALTER TABLE … {clause}")
        elif not is_renamed:
            self._found(statement.kind, name, added_columns(statement, timestamp))

    def _may_be_copy(self, name: TableName) -> bool:
        """Return whether a tool can have made the table from a followed one, by its name."""
        return any(self._tables.follows(name[0], table) for table in named_after(name[1]))

    def _rename(self, statement: Statement) -> None:
        """Apply all renames of a statement together, because they take effect together."""
        # The table of each name before the statement.
        holds: dict[TableName, TableName] = {}
        for old, new in statement.renames:
            holds[new] = holds.pop(old, old)
        moved = {origin: new for new, origin in holds.items() if new != origin}
        for name, new in moved.items():
            if name not in holds:
                self._leave(name, new)
        for origin, name in moved.items():
            self._fill(name, origin, is_left=name in moved)

    def _leave(self, name: TableName, new: TableName) -> None:
        """Note that a name holds no table any longer; its table is `new` now."""
        if not self._tables.follows(*name):
            return
        if not self._online.move_away(name, new):
            self._online.forget(name)
            self._found(StatementKind.RENAME_TABLE, name)

    def _fill(self, name: TableName, origin: TableName, *, is_left: bool) -> None:
        """Note that a name now holds the table that was `origin`.

        With `is_left`, its former table has another name now.
        """
        online = self._online
        if not self._tables.follows(*name):
            if named_after(origin[1]):
                self._forget(origin)
            return
        if (is_left or online.is_away(name)) and online.is_copy(origin, name):
            clause = self._unproven_in_copy(origin, name)
            added = online.cut_over(origin, name)
            if clause:
                reason = f"ALTER TABLE … {clause} of {origin[0]}.{origin[1]}, which took its place"
                self._found(StatementKind.ALTER_TABLE, name, resync=reason)
            else:
                self._found(StatementKind.ALTER_TABLE, name, added)
            return
        online.replaced(name)
        self._forget(origin)
        self._found(
            StatementKind.RENAME_TABLE, name, resync=f"a rename of {origin[0]}.{origin[1]} to it"
        )

    def _unproven_in_copy(self, copy: TableName, table: TableName) -> str:
        """Return the clause because of which `copy` may have other values than `table` had."""
        columns = self._columns.known(*table)
        for query, mode in self._online.statements_on(copy):
            tokens = classify(query, session_syntax(mode)).tokens
            clause = unsafe_clause(tokens, columns, mode, by_tool=True)
            if clause:
                return clause
        return ""

    def _forget(self, name: TableName) -> None:
        """Note that a table is gone, and also one that was put aside under this name."""
        for put_aside in self._online.forget(name):
            self._found(StatementKind.DROP_TABLE, put_aside)

    def _found(
        self,
        kind: StatementKind,
        name: TableName,
        added: list[AddedColumn] | None = None,
        resync: str = "",
    ) -> None:
        self.effects.append((kind, name, added or [], resync))
