"""A table of the source becomes its schema, as the log tells it, and the SELECT that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from connector.codec.sql_text import quoted_identifier, quoted_name
from connector.envelope.copied.cell_choice import has_uncertain_labels
from connector.envelope.copied.selected_rows import SelectedRowWriter
from connector.envelope.schemas.table_schema import TableSchema
from connector.errors import UnsupportedChange, table_definitions
from connector.source.tables.table_definition import (
    PACKED_TYPES,
    TableDefinition,
    read_definition,
)

if TYPE_CHECKING:
    from connector.contract import SchemaColumn
    from connector.source.server.select_session import SelectSession
    from connector.source.tables.table_definition import Row

_BYTES = frozenset({"binary", "varbinary"})
_TEXTS = frozenset({"char", "varchar"})
_TIMES = frozenset({"date", "datetime", "timestamp", "time"})
_FLOATS = frozenset({"float", "double"})


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the key by which rows are told apart, which is that of their records."""

    name: str
    expression: str  # the quoted name, for WHERE and ORDER BY
    # Whether WHERE with a `literal` and ORDER BY agree on what follows a value, so that the table
    # can be read in pieces; false where the key has only the beginning of the value.
    ordered: bool
    type: str  # as in the schema
    charset: str  # of text: the server's own name
    packed_type: str  # MariaDB's UUID, INET4 or INET6, else ""
    declared: str  # name, type and collation: with others, the same keys may have another order

    def literal(self, cell: bytes) -> str:
        """Return the SQL of a value, given by its cell in `Chunk.last_key`."""
        if self.packed_type:
            return f"CAST(X'{cell.hex()}' AS {self.packed_type})"
        if self.type in _BYTES:
            return f"X'{cell.hex()}'"
        if self.type in _TEXTS:
            return f"_{self.charset} X'{cell.hex()}'"
        if self.type == "bit":
            return str(int.from_bytes(cell, "big"))
        text = cell.decode("ascii")
        if self.type in _TIMES:
            return f"'{text}'"
        if self.type in _FLOATS and "e" not in text:
            return f"{text}e0"  # without an exponent it would be a DECIMAL
        return text


@dataclass(frozen=True, slots=True)
class SelectedTable:
    """A table as it is now, and how to read it.

    `select_list` has each column of the schema, also invisible ones, in its order, in the form
    that `SelectedRowWriter` reads; `quoted_name` is what to select from.
    """

    schema: TableSchema
    select_list: str
    quoted_name: str
    key_columns: tuple[KeyColumn, ...]  # in key order; none where records have no key

    @classmethod
    def describe(cls, session: SelectSession, database: str, table: str) -> Self:
        """Ask the server what the table looks like.

        Raises SourceRefused when there is no such table that the account may read,
        UnsupportedChange where rows of a SELECT cannot be what the log would have of them.
        """
        try:
            definition = read_definition(session, database, table)
            columns = definition.schema_columns()
        except UnsupportedChange as error:
            raise UnsupportedChange(
                table_definitions.COPY, name=f"{database}.{table}", why=error
            ) from error
        schema = TableSchema.of_columns(database, table, columns)
        return cls(
            schema,
            ", ".join(map(_expression, columns, definition.columns)),
            quoted_name(database, table),
            tuple(
                _key_column(columns[index], definition.columns[index], definition)
                for index in schema.key_indexes
            ),
        )

    @property
    def name(self) -> str:
        """`database.table`."""
        return self.schema.name

    def writer(self) -> SelectedRowWriter:
        """Return a writer of its rows; each thread that reads needs its own."""
        return SelectedRowWriter(self.schema)


def _expression(column: SchemaColumn, row: Row) -> str:
    """Return what to select, so that the text of the answer is exact; see `selected_cells`."""
    quoted = quoted_identifier(column["name"])
    kind = row["type"] or ""
    if kind in PACKED_TYPES:
        return f"CAST({quoted} AS BINARY({PACKED_TYPES[kind]}))"
    if has_uncertain_labels(column):
        return f"CONVERT({quoted} USING utf8mb4)"
    if kind in ("enum", "set"):
        return f"CAST({quoted} AS UNSIGNED)"
    if kind == "float" or (kind == "double" and "(" in (row["definition"] or "")):
        # A FLOAT prints with six digits, and a number with a count of decimals with these alone.
        return f"{quoted} + 0e0"
    return quoted


def _key_column(column: SchemaColumn, row: Row, definition: TableDefinition) -> KeyColumn:
    kind = row["type"] or ""
    return KeyColumn(
        column["name"],
        quoted_identifier(column["name"]),
        # Labels sort by their number, which is not what is selected then.
        ordered=column["name"] not in definition.prefixed and not has_uncertain_labels(column),
        type=column["type"],
        charset=row["charset"] or "",
        packed_type=kind.upper() if kind in PACKED_TYPES else "",
        declared=" ".join(
            filter(None, (column["name"], row["definition"] or kind, row["collation"]))
        ),
    )
