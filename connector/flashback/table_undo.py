"""A changed row becomes the statement that reverses the change.

::

    INSERT   →  DELETE FROM t WHERE key = … LIMIT 1
    DELETE   →  INSERT INTO t (all columns) VALUES (…)
    UPDATE   →  UPDATE t SET all columns = before WHERE key = after LIMIT 1

The row is found by its primary key, or without one by all of its columns: if rows are equal in all
columns, any of them will do. The statement sets all columns, even unchanged ones, so that ON UPDATE
CURRENT_TIMESTAMP has no effect.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from connector.binlog.columns.values import ABSENT
from connector.binlog.events.rows_head import RowsKind
from connector.codec.sql_text import quoted_identifier, quoted_name
from connector.errors import DecodeError, UnsupportedChange, log_undo
from connector.flashback.sql_values import literal, matches, raw_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value
    from connector.binlog.events.row_reader import Row
    from connector.binlog.events.rows import RowsEvent
    from connector.binlog.events.table_map import TableMapEvent

# Columns that a functional index hides; no statement can name them.
_HIDDEN = "!hidden!"


class TableUndo:
    """Undoes row changes of one table, as one table map describes it."""

    def __init__(self, table_map: TableMapEvent, omitted: frozenset[str]) -> None:
        """Leave out the columns named in `omitted`, as `database.table.column`.

        Raises DecodeError if the log does not name the columns.
        """
        full_name = f"{table_map.schema}.{table_map.table}"
        if any(column.name is None for column in table_map.columns):
            raise DecodeError(log_undo.NO_NAMES, table=full_name)
        self._name = quoted_name(table_map.schema, table_map.table)
        self._columns = table_map.columns
        self._assigned = [
            index
            for index, column in enumerate(table_map.columns)
            if not _column_name(column).startswith(_HIDDEN)
            and f"{full_name}.{column.name}" not in omitted
        ]
        by_key = sorted((c.primary_key, index) for index, c in enumerate(table_map.columns))
        self._key = [index for part, index in by_key if part]
        self._raw_map = replace(table_map, columns=raw_columns(table_map.columns), _row_plan=None)

    def statements(self, rows: RowsEvent) -> Iterator[str]:
        """Yield the statement for each row of an event of this table, in the order of the event.

        Raises UnsupportedChange if the images lack needed columns, EventError for a row that cannot
        be read.
        """
        undo = {
            RowsKind.INSERT: self._delete,
            RowsKind.DELETE: self._insert,
            RowsKind.UPDATE: self._update,
        }[rows.kind]
        for row in replace(rows, table_map=self._raw_map).rows(apply_diffs=True):
            try:
                yield undo(row)
            except DecodeError as error:
                raise UnsupportedChange(
                    log_undo.ROW,
                    file=rows.file,
                    position=rows.position,
                    table=f"{self._raw_map.schema}.{self._raw_map.table}",
                    why=error,
                ) from error

    def _delete(self, row: Row) -> str:
        assert row.after is not None
        return f"DELETE FROM {self._name} WHERE {self._where(row.after)} LIMIT 1;"  # noqa: S608 - quoted

    def _insert(self, row: Row) -> str:
        image = row.before
        assert image is not None
        names = ", ".join(_quoted(self._columns[index]) for index in self._assigned)
        values = ", ".join(
            literal(self._columns[index], self._present(image, index)) for index in self._assigned
        )
        return f"INSERT INTO {self._name} ({names}) VALUES ({values});"  # noqa: S608 - quoted

    def _update(self, row: Row) -> str:
        before, after = row.before, row.after
        assert before is not None
        assert after is not None
        assignments = [
            f"{_quoted(self._columns[index])} = "
            f"{literal(self._columns[index], self._present(before, index))}"
            for index in self._assigned
            # A column that neither image holds has not changed (binlog_row_image=NOBLOB).
            if before[index] is not ABSENT or after[index] is not ABSENT
        ]
        image = [b if a is ABSENT else a for b, a in zip(before, after, strict=True)]
        changes, row_key = ", ".join(assignments), self._where(image)
        return f"UPDATE {self._name} SET {changes} WHERE {row_key} LIMIT 1;"  # noqa: S608 - quoted

    def _where(self, image: list[Value]) -> str:
        if self._key:
            return " AND ".join(
                f"{_quoted(self._columns[index])} = "
                f"{literal(self._columns[index], self._present(image, index))}"
                for index in self._key
            )
        return " AND ".join(
            matches(column, self._present(image, index))
            for index, column in enumerate(self._columns)
            if not _column_name(column).startswith(_HIDDEN)
        )

    def _present(self, image: list[Value], index: int) -> Value:
        value = image[index]
        if value is ABSENT:
            raise DecodeError(log_undo.NOT_IN_IMAGE, column=self._columns[index].name)
        return value


def _column_name(column: Column) -> str:
    assert column.name is not None
    return column.name


def _quoted(column: Column) -> str:
    return quoted_identifier(_column_name(column))
