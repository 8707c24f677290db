"""A table of the source: its schema as in the log, and the SELECT that reads it."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from connector.binlog.sql_text import quoted_identifier, quoted_name
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import SourceRefused, UnsupportedChange
from connector.stream.envelope.cells.labels import has_uncertain_labels
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.schemas.table_schema import TableSchema, declared_kind
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.source import information_schema, table_errors
from connector.stream.source.select_session import SelectSession
from connector.stream.source.table_definitions import unlogged_columns

_BYTES = frozenset({"binary", "varbinary"})
_TEXTS = frozenset({"char", "varchar"})
_TIMES = frozenset({"date", "datetime", "timestamp", "time"})
_FLOATS = frozenset({"float", "double"})
_SIGNS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    ">=": operator.ge,
}
# Longer lists of numbers would cost more than they save.
_NUMBERS_MAX = 256


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the key that identifies rows; it is also the key of their records."""

    name: str
    expression: str  # the quoted name, for WHERE and ORDER BY
    # Whether WHERE with a `literal` and ORDER BY have the same order, so that the table can be read
    # in chunks. False if the key has only the beginning of the value, or compares it otherwise.
    ordered: bool
    type: str  # as in the schema
    charset: str  # for text: the server's name of the character set
    packed_type: str  # MariaDB's UUID, INET4 or INET6, else ""
    declared: str  # name, type and collation: if they change, the order of the keys may change
    # How many values there are of an ENUM or a SET, if they are few, else 0.
    value_count: int = 0
    # What a SELECT reads to get a cell of the value.
    selected: str = ""

    def text(self, cell: bytes) -> str:
        """Return a value as text for a person, from its cell in `Chunk.last_key`."""
        if self.packed_type or self.type in _BYTES:
            return cell.hex().upper()
        if self.type == "bit":
            return str(int.from_bytes(cell, "big"))
        return cell.decode("utf-8", "backslashreplace")

    def literal(self, cell: bytes) -> str:
        """Return the SQL literal of a value, from its cell in `Chunk.last_key`."""
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

    def beyond(self, sign: str, literal: str) -> str:
        """Return the condition for values on one side of a literal; `sign` is `<`, `>` or `>=`."""
        if not self.value_count:
            return f"{self.expression} {sign} {literal}"
        # No server reads a range of numbers of an ENUM or a SET from an index, but a list of them.
        is_beyond, limit = _SIGNS[sign], int(literal)
        numbers = [str(n) for n in range(self.value_count) if is_beyond(n, limit)]
        return self._among(numbers) if numbers else "FALSE"

    def equal_to(self, literal: str) -> str:
        """Return the condition for one value, by which a server sorts like by others."""
        return self._among([literal]) if self.value_count else f"{self.expression} = {literal}"

    def _among(self, numbers: list[str]) -> str:
        # MySQL takes a list of one number for an equality, and sorts the rows.
        listed = numbers * 2 if len(numbers) == 1 else numbers
        return f"{self.expression} IN ({', '.join(listed)})"


@dataclass(frozen=True, slots=True)
class SelectedTable:
    """The current form of a table, and how to read it.

    The schema is that of the records. `select_list` has each of its columns, also invisible ones,
    in the order of the schema and in the form that `SelectRowWriter` reads. `quoted_name` is the
    table's name in SQL.
    """

    schema: TableSchema
    select_list: str
    quoted_name: str
    key_columns: tuple[KeyColumn, ...]  # in key order; empty if records have no key
    # In whose order it is read in chunks: the key, or the column that a user named instead.
    order_columns: tuple[KeyColumn, ...]
    surrogate_key: str = ""  # the name of that column

    @classmethod
    def describe(
        cls, session: SelectSession, database: str, table: str, surrogate_key: str = ""
    ) -> Self:
        """Read the table's definition from the server.

        Raises SourceRefused if there is no such table that the account may read, or if its rows
        have no order by `surrogate_key`; UnsupportedChange if rows of a SELECT cannot equal those
        of the log.
        """
        return cls.of_definition(
            session,
            (database, table),
            information_schema.read_definition(session, database, table),
            surrogate_key,
        )

    @classmethod
    def of_definition(
        cls,
        session: SelectSession,
        name: tuple[str, str],
        definition: information_schema.TableDefinition,
        surrogate_key: str = "",
    ) -> Self:
        """Return the table `name` with a definition that was read; raises as `describe`."""
        database, table = name
        try:
            columns = definition.schema_columns()
        except UnsupportedChange as error:
            raise UnsupportedChange(
                table_errors.COPY, name=f"{database}.{table}", why=error
            ) from error
        unlogged = unlogged_columns(session.identity, definition.columns)
        kinds = {
            column["name"]: kind
            for column, row in zip(columns, definition.columns, strict=True)
            if (kind := declared_kind(row["type"] or "", row["definition"] or "", column["type"]))
            != column["type"]
        }
        schema = TableSchema.of_columns(
            database, table, columns, unlogged, kinds, session.chosen_columns
        )
        rows = [definition.columns[place] for place in schema.places]
        key = _key_columns(schema, schema.key_indexes, rows, definition)
        order = _order(schema, surrogate_key, definition)
        return cls(
            schema,
            ", ".join(map(_expression, schema.columns, rows)),
            quoted_name(database, table),
            key,
            _key_columns(schema, order, rows, definition) if surrogate_key else key,
            surrogate_key,
        )

    @property
    def name(self) -> str:
        """`database.table`."""
        return self.schema.name

    def writer(self, debezium: DebeziumProfile | None = None) -> SelectRowWriter:
        """Return a writer of its rows in a form; each thread that reads needs its own."""
        places = {column["name"]: index for index, column in enumerate(self.schema.columns)}
        order = tuple(places[column.name] for column in self.order_columns)
        return SelectRowWriter(self.schema, debezium, order)


def _expression(column: SchemaColumn, row: information_schema.Row) -> str:
    """Return the expression to select, whose text is exact; see `cells.selected`."""
    quoted = quoted_identifier(column["name"])
    kind = row["type"] or ""
    if kind in information_schema.PACKED_TYPES:
        return f"CAST({quoted} AS BINARY({information_schema.PACKED_TYPES[kind]}))"
    if has_uncertain_labels(column):
        return f"CONVERT({quoted} USING utf8mb4)"
    if kind in ("enum", "set"):
        return f"CAST({quoted} AS UNSIGNED)"
    if kind == "float" or (kind == "double" and "(" in (row["definition"] or "")):
        # A FLOAT prints with six digits, and a number with a fixed scale only with its decimals.
        return f"{quoted} + 0e0"
    return quoted


def _order(
    schema: TableSchema, surrogate_key: str, definition: information_schema.TableDefinition
) -> tuple[int, ...]:
    """Return the index of the column that a user named; none without one.

    Raises SourceRefused if rows can have the same value of the column, or none.
    """
    if not surrogate_key:
        return ()
    for index, column in enumerate(schema.columns):
        if column["name"] == surrogate_key:
            if column["nullable"] or surrogate_key not in definition.unique:
                break
            if surrogate_key in schema.changes:
                # The order of the records would tell that of the values.
                raise SourceRefused(
                    table_errors.SURROGATE_KEY_MASKED, table=schema.name, column=surrogate_key
                )
            return (index,)
    raise SourceRefused(table_errors.SURROGATE_KEY, table=schema.name, column=surrogate_key)


def _key_columns(
    schema: TableSchema,
    indexes: Sequence[int],
    rows: list[information_schema.Row],
    definition: information_schema.TableDefinition,
) -> tuple[KeyColumn, ...]:
    return tuple(_key_column(schema.columns[index], rows[index], definition) for index in indexes)


def _key_column(
    column: SchemaColumn,
    row: information_schema.Row,
    definition: information_schema.TableDefinition,
) -> KeyColumn:
    kind = row["type"] or ""
    return KeyColumn(
        column["name"],
        quoted_identifier(column["name"]),
        # Labels sort by their number, but the SELECT gives their text.
        ordered=column["name"] not in definition.prefixed | definition.unordered
        and not has_uncertain_labels(column),
        type=column["type"],
        charset=row["charset"] or "",
        packed_type=kind.upper() if kind in information_schema.PACKED_TYPES else "",
        declared=" ".join(
            filter(None, (column["name"], row["definition"] or kind, row["collation"]))
        ),
        value_count=_value_count(column),
        selected=_expression(column, row),
    )


def _value_count(column: SchemaColumn) -> int:
    """Return how many values a column of few labels can have; 0 for others."""
    labels = len(column.get("labels", []))
    # An ENUM may have the number 0, which is no label.
    count = {"enum": labels + 1, "set": 1 << labels}.get(column["type"], 0)
    return count if count <= _NUMBERS_MAX else 0
