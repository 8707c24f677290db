"""Which rows of a table have records, by a condition on their columns.

As with Debezium's transformation Filter, each record is judged alone: that of an insert, of an
update and of a copied row by the row after it, that of a delete by the row before it.
https://debezium.io/documentation/reference/stable/transformations/filtering.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from mypy_extensions import mypyc_attr

from connector.binlog.columns.values import ABSENT
from connector.envelope.cells.uncertain_labels import has_uncertain_labels
from connector.envelope.filters.cell_values import logged_value, selected_value
from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from connector.contract import SchemaColumn
    from connector.envelope.filters.terms import Term


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
        self._logged: list[Callable[[Any], Any]] = [logged_value(each) for each in self._columns]
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
                    table_rows.COLUMN_ABSENT, column=self._columns[number]["name"]
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
