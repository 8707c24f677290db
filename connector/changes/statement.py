"""A statement of a QUERY event: its kind, and the tables that it names."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.changes.table_names import TableName
    from connector.changes.tokens import Token


class StatementKind(Enum):
    """The effect of a QUERY event on the stream."""

    BEGIN = "BEGIN"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    SAVEPOINT = "SAVEPOINT"
    ROLLBACK_TO = "ROLLBACK TO SAVEPOINT"
    XA = "XA"
    ALTER_TABLE = "ALTER TABLE"
    TRUNCATE = "TRUNCATE TABLE"
    CREATE_TABLE = "CREATE TABLE"
    DROP_TABLE = "DROP TABLE"
    RENAME_TABLE = "RENAME TABLE"
    CREATE_DATABASE = "CREATE DATABASE"
    DROP_DATABASE = "DROP DATABASE"
    INDEX = "INDEX"  # CREATE INDEX, DROP INDEX
    CREATE_TRIGGER = "CREATE TRIGGER"
    DROP_TRIGGER = "DROP TRIGGER"
    DML = "DML"
    OTHER = "OTHER"

    @property
    def ends_tables(self) -> bool:
        """Whether the names have no table afterwards, unless another statement follows."""
        return self in (
            StatementKind.DROP_TABLE,
            StatementKind.DROP_DATABASE,
            StatementKind.RENAME_TABLE,
        )

    @property
    def empties_tables(self) -> bool:
        """Whether the names have no rows afterwards."""
        return self is StatementKind.TRUNCATE or self.ends_tables

    @property
    def changes_columns(self) -> bool:
        """Whether the names can have other columns afterwards."""
        return self.ends_tables or self in (
            StatementKind.ALTER_TABLE,
            StatementKind.CREATE_TABLE,
            StatementKind.INDEX,
            StatementKind.DML,  # CREATE TABLE … SELECT; others name no table
        )


@dataclass(slots=True)
class Statement:
    """A classified statement; `tables` are (database, table), database "" for the current one."""

    kind: StatementKind
    verb: str
    tables: list[TableName] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    # Old and new names, in the order in which they take effect.
    renames: list[tuple[TableName, TableName]] = field(default_factory=list)
    replaces_rows: str = ""  # the clause of ALTER TABLE with this effect, such as DROP PARTITION
    trigger: str = ""  # the name in CREATE TRIGGER and DROP TRIGGER
    savepoint: str = ""  # the savepoint that is set, or rolled back to

    def resolve(self, database: str, *, lower_case: bool) -> None:
        """Put names without a database into `database`, the session's current one.

        With `lower_case` the names become lower case, as on the server.
        """

        def resolved(name: TableName) -> TableName:
            found = (name[0] or database, name[1])
            return (found[0].lower(), found[1].lower()) if lower_case else found

        self.tables = [resolved(name) for name in self.tables]
        self.renames = [(resolved(old), resolved(new)) for old, new in self.renames]
