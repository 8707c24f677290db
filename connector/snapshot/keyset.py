"""The SELECT of a chunk: the next rows after a key, in the order of the key.

The key is that of the records, or a column that a user named instead (surrogate-key). Rows are told
from each other by the key of their records in both cases. If the named value of a row changes
during the copy, the row may be left out, but then the stream has delivered it.

For a key of several columns, the server's range optimiser accepts one condition on all of them::

    (a > 7 OR (a = 7 AND (b > 3)))

It then reads from the index only the rows after (7, 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.snapshot.table_state import KeyRange
    from connector.source.tables.selected_table import KeyColumn, SelectedTable


def can_be_paged(table: SelectedTable) -> bool:
    """Return whether the rows have an order in which a SELECT can continue after a row."""
    return bool(table.key_columns) and all(column.ordered for column in table.order_columns)


def after_key(columns: Sequence[KeyColumn], key: Sequence[bytes]) -> str:
    """Return the condition for rows whose key is after `key`, which has at least one column."""
    column, value = columns[0], columns[0].literal(key[0])
    greater = f"{column.expression} > {value}"
    if len(columns) == 1:
        return greater
    rest = after_key(columns[1:], key[1:])
    return f"({greater} OR ({column.expression} = {value} AND {rest}))"


def select_chunk(
    table: SelectedTable,
    part: KeyRange,
    after: Sequence[bytes],
    where: str,
    limit: int,
    hint: str = "",
) -> str:
    """Return the SELECT of the next `limit` rows of `part` after the key `after`.

    An empty `after` is the beginning of the part. `where` is the SQL of a `Condition`.
    """
    first = table.order_columns[0].expression
    conditions = []
    if after:
        conditions.append(after_key(table.order_columns, after))
    elif part.low:
        conditions.append(f"{first} >= {part.low}")
    if part.high:
        conditions.append(f"{first} < {part.high}")
    order = ", ".join(column.expression for column in table.order_columns)
    return f"{select_rows(table, conditions, where, hint)} ORDER BY {order} LIMIT {limit}"


def select_rows(table: SelectedTable, conditions: Sequence[str], where: str, hint: str = "") -> str:
    """Return the SELECT of all rows that meet the conditions, in any order."""
    every = [*conditions, *([f"({where})"] if where else [])]
    condition = f" WHERE {' AND '.join(every)}" if every else ""
    return f"SELECT {hint}{table.select_list} FROM {table.quoted_name}{condition}"  # noqa: S608 - quoted names
