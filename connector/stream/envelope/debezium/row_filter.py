"""The row filter of a table: rows have records only if they meet a condition on their columns.

As with Debezium's transformation Filter, each record is judged alone: that of an insert, of an
update and of a copied row by the row after it, that of a delete by the row before it.
https://debezium.io/documentation/reference/stable/transformations/filtering.html

The log and SELECTs give the same values to compare: an int or a Decimal; a text, by its
characters; bytes; and for dates and moments the text that the server prints, with six digits after
the second.
"""

from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from typing import Any, Final, final

from mypy_extensions import mypyc_attr

from connector.binlog.character_sets import character_decoder
from connector.binlog.columns.column import (
    ABSENT,
    BINARIES,
    CHARACTERS,
    INTEGERS,
    EnumIndex,
    Family,
)
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.labels import has_uncertain_labels
from connector.stream.envelope.cells.writers import not_text
from connector.stream.envelope.debezium.filter_terms import Term

NUMBER: Final = "number"
TEXT: Final = "text"
BYTES: Final = "bytes"
DATE: Final = "date"
MOMENT: Final = "moment"
# Only whether it is NULL can be told.
OTHER: Final = "other"

_MOMENTS: Final = frozenset({"datetime", "timestamp"})
_UTF8: Final = ("utf8mb3", "utf8mb4")

_SECOND_CHARACTERS: Final = 19
_MOMENT_CHARACTERS: Final = 26


def kind_of(column: SchemaColumn) -> str:
    """Return with what the values of a column can be compared."""
    kind = column["type"]
    if kind in INTEGERS or kind in (Family.YEAR, Family.DECIMAL):
        return NUMBER
    if kind in CHARACTERS or kind == "enum":
        return TEXT
    if kind in BINARIES:
        return BYTES
    if kind == "date":
        return DATE
    return MOMENT if kind in _MOMENTS else OTHER


def moment(text: str) -> str:
    """Return a date, or a date with a time, as moments are compared."""
    if len(text) < _SECOND_CHARACTERS:
        text += " 00:00:00"
    if len(text) == _SECOND_CHARACTERS:
        text += "."
    return text.ljust(_MOMENT_CHARACTERS, "0")


def logged_value(column: SchemaColumn) -> Callable[[Any], Any]:
    """Return what makes a value of a `Value` of the log, except NULL.

    It raises UnsupportedChange for bytes where text should be.
    """
    kind = kind_of(column)
    if kind == MOMENT:
        return moment
    if column["type"] == "decimal":
        return Decimal
    if kind == TEXT:
        name = column["name"]

        def text(value: Any) -> str:
            if isinstance(value, str):
                return value
            if isinstance(value, EnumIndex) and value.index == 0:
                # The error value of an ENUM.
                return ""
            raise not_text(name)

        return text
    return _same if kind != OTHER else _something


def selected_value(column: SchemaColumn, *, is_label: bool) -> Callable[[bytes], Any]:
    """Return what makes a value of a cell of a SELECT, except NULL.

    `is_label` says whether an ENUM is selected as its label, and not as its number. It raises
    UnsupportedChange for bytes that are no text.
    """
    kind = kind_of(column)
    if column["type"] == "decimal":
        return lambda data: Decimal(data.decode())
    if kind == NUMBER:
        return int
    if kind == DATE:
        return bytes.decode
    if kind == MOMENT:
        return lambda data: moment(data.decode())
    if kind == TEXT:
        if column["type"] == "enum" and not is_label:
            return _label_of(column)
        return _text_of(column, is_label=is_label)
    return _same if kind == BYTES else _something


def _text_of(column: SchemaColumn, *, is_label: bool) -> Callable[[bytes], Any]:
    name = column["name"]
    charset = column.get("charset", "")
    decode = None if is_label or charset in _UTF8 else character_decoder(charset)

    def text(data: bytes) -> str:
        try:
            return str(data, "utf-8") if decode is None else decode(data)
        except (UnicodeDecodeError, DecodeError):
            raise not_text(name) from None

    return text


def _label_of(column: SchemaColumn) -> Callable[[bytes], Any]:
    labels: list[str] = ["", *column.get("labels", ())]
    name = column["name"]

    def label(data: bytes) -> str:
        index = int(data)
        if index >= len(labels):
            raise not_text(name)
        return labels[index]

    return label


def _same(value: Any) -> Any:
    return value


def _something(value: Any) -> Any:
    del value
    return True


@final
class FilteredTable:
    """What a filter has to know of a column list."""

    __slots__ = ("columns", "database", "masked", "name", "places")

    def __init__(
        self,
        database: str,
        name: str,
        columns: Sequence[SchemaColumn],
        places: Sequence[int],
        masked: Collection[str],
    ) -> None:
        """Name the columns that records have, and the index of each in the table.

        `masked` has the names of those that records have in another form.
        """
        self.database = database
        self.name = name
        self.columns = columns
        self.places = places
        self.masked = masked


@final
class RowFilter:
    """The condition of one column list."""

    def __init__(self, table: FilteredTable, indexes: list[int], condition: Term) -> None:
        """Judge by the columns at `indexes`, in whose order `condition` takes them."""
        self._columns = [table.columns[index] for index in indexes]
        # Among the columns of records, and among all columns of the table.
        self.indexes = indexes
        self.places = [table.places[index] for index in indexes]
        self._condition = condition
        self._logged: list[Callable[[Any], Any]] = [
            logged_value(column) for column in self._columns
        ]
        # Made with the first row of a SELECT: the log does not name every character set.
        self._selected: list[Callable[[bytes], Any]] = []

    def keeps_logged(self, values: Sequence[Any]) -> bool:
        """Return whether a row of the log has a record; `values` has all columns of the table.

        Raises UnsupportedChange if the log leaves a value out, or if it is bytes instead of text.
        """
        row: list[Any] = []
        for number, place in enumerate(self.places):
            value = values[place]
            if value is ABSENT:
                raise UnsupportedChange(
                    record_errors.COLUMN_ABSENT, column=self._columns[number]["name"]
                )
            row.append(None if value is None else self._logged[number](value))
        return self._condition.value(row) is True

    def keeps_selected(self, cells: Sequence[bytes | None]) -> bool:
        """Return whether a row of a SELECT has a record; `cells` are those of `indexes`.

        Raises UnsupportedChange for a text that is not in its character set.
        """
        if not self._selected:
            self._selected = [
                selected_value(column, is_label=has_uncertain_labels(column))
                for column in self._columns
            ]
        row = [
            None if cell is None else self._selected[number](cell)
            for number, cell in enumerate(cells)
        ]
        return self._condition.value(row) is True


@mypyc_attr(allow_interpreted_subclasses=True)
class RowFilters:
    """The filters of all tables."""

    def of(self, table: FilteredTable) -> RowFilter | None:
        """Return the filter of a column list; None if all its rows have records.

        Raises UnsupportedChange for a condition that cannot be evaluated with these columns.
        """
        raise NotImplementedError
