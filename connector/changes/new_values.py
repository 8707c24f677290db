"""The new values of chosen columns in the rows of an event, as SQL for a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.binlog.columns.column_types import ColumnType
from connector.binlog.columns.values import ABSENT, Value
from connector.changes.foreign_keys import NULL, UNKNOWN

if TYPE_CHECKING:
    from connector.binlog.events.rows import RowsEvent

# Foreign keys compare the stored bytes of these types, which SQL does not show.
_COMPARED_OTHERWISE: Final = (ColumnType.ENUM, ColumnType.SET, ColumnType.STRING)
_TEXT_CHARACTERS_MAX: Final = 64
_VALUES_MAX: Final = 64


def new_values(rows: RowsEvent, indexes: dict[int, str]) -> list[dict[str, str]]:
    """Return the new values, by name, of the columns at `indexes` in each row that changes them.

    Raises DecodeError for rows that cannot be read.
    """
    plan = rows.plan
    assert rows.before_columns_present is not None
    assert rows.after_columns_present is not None
    before_indexes = plan.indexes(rows.before_columns_present)
    after_indexes = plan.indexes(rows.after_columns_present)
    chosen = frozenset(indexes)
    image = rows.images()
    found: list[dict[str, str]] = []
    while image.offset < image.end:
        before = _empty(len(plan.readers), before_indexes)
        after = _empty(len(plan.readers), after_indexes)
        plan.read_chosen(image, before_indexes, plan.readers, chosen, before)
        readers = plan.partial_readers(image) if rows.partial else plan.readers
        plan.read_chosen(image, after_indexes, readers, chosen, after)
        values: dict[str, str] = {}
        for index, name in indexes.items():
            value = after[index]
            # A column that the after image leaves out has not changed.
            if value is not ABSENT and value != before[index]:
                exact = rows.table_map.columns[index].real_type not in _COMPARED_OTHERWISE
                values[name] = _literal(value) if exact or value is None else UNKNOWN
        if values and values not in found:
            found.append(values)
            if len(found) > _VALUES_MAX:
                return [dict.fromkeys(indexes.values(), UNKNOWN)]
    return found


def _empty(count: int, indexes: list[int]) -> list[Value]:
    """Return an image without values: NULL at `indexes`, absent elsewhere."""
    values: list[Value] = [ABSENT] * count
    for index in indexes:
        values[index] = None
    return values


def _literal(value: Value) -> str:
    """Return a value as SQL; UNKNOWN if that is not certain to find it."""
    if value is None:
        return NULL
    if isinstance(value, int):
        return str(value)
    if (
        isinstance(value, str)
        and len(value) <= _TEXT_CHARACTERS_MAX
        and value.isprintable()
        and "\\" not in value
    ):
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return UNKNOWN
