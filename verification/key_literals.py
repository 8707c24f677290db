"""The key of a row of the mirror as a condition in SQL, which finds the row at the source."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from connector.source.tables.selected_table import KeyColumn

_TEXTS = frozenset({"char", "varchar", "text", "enum", "set"})


def condition_of_keys(
    columns: Sequence[KeyColumn],
    keys: Iterable[Sequence[object]],
    literal: Callable[[KeyColumn, object], str],
) -> str:
    """Return the condition that any of `keys` meets; a key has the values of `columns`."""
    if len(columns) == 1:
        values = ", ".join(literal(columns[0], key[0]) for key in keys)
        return f"{columns[0].expression} IN ({values})"
    return " OR ".join(
        "(" + " AND ".join(
            f"{column.expression} = {literal(column, value)}"
            for column, value in zip(columns, key, strict=True)
        ) + ")"
        for key in keys
    )  # fmt: skip


def select_literal(column: KeyColumn, value: object) -> str:
    """Return a value as a SELECT compares it with the column, whatever its characters are."""
    if isinstance(value, bytes):
        return column.literal(value)
    if isinstance(value, str):
        # Backslashes and quotes have no meaning in hexadecimal digits.
        text = f"X'{value.encode().hex()}'"
        return f"_utf8mb4 {text}" if column.type in _TEXTS else f"CAST({text} AS CHAR)"
    if isinstance(value, float):
        return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
    return plain_literal(value)


def plain_literal(value: object) -> str:
    """Return a value that is neither a text nor bytes."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, datetime):
        return f"'{value.replace(tzinfo=None).isoformat(' ')}'"
    if isinstance(value, date):
        return f"'{value.isoformat()}'"
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)
