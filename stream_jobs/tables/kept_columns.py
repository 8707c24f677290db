"""The columns of a mirror that keeps what the source loses.

A dropped column stays, and is NULL in later rows. If a column gets a type that does not hold its
old values, the old column gets another name (`name__2`), and a new one is added. Column mapping
makes both a change of metadata alone. A column that the source does not have any more is *retired*;
its metadata says which name it had.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from stream_jobs.delta.columns import highest_id, new_columns
from stream_jobs.schema.column_types import ColumnType
from stream_jobs.schema.table_schema import OWN_PREFIX
from stream_jobs.tables.column_changes import ColumnChange, described, fits, holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from connector.contract import SchemaColumn
    from stream_jobs.delta.columns import Column
    from stream_jobs.schema.table_schema import TableSchema

# In the metadata of a retired column: its name at the source.
_RETIRED: Final = "cdc.retired"


def kept_columns(
    columns: Sequence[Column],
    lists: Sequence[TableSchema],
    others: Iterable[TableSchema],
    last_id: int,
) -> ColumnChange:
    """Return the columns of a mirror that goes through `lists`, the current one first.

    Rows of the `others`, older lists, find a place for all of their values, too.
    """
    target = lists[-1]
    active = {c.name: c for c in columns if not _is_own(c) and _RETIRED not in c.metadata}
    retired = [column for column in columns if _RETIRED in column.metadata]
    widened: set[str] = set()
    for older, newer in pairwise(lists):
        for name in older.by_name.keys() & active.keys():
            before, now = older.by_name[name], newer.by_name.get(name)
            if now is None or not fits(now, before):
                retired.append(_retired(active.pop(name), name))
                widened.discard(name)
            elif ColumnType.of(before).stored != ColumnType.of(now).stored:
                widened.add(name)
    new = [column for column in target.columns if column["name"] not in active]
    made = {c.name: c for c in new_columns([described(column) for column in new], last_id)}
    last_id = max(last_id, highest_id(made.values()))
    current = [
        made.get(name) or active[name]._replace(type=ColumnType.of(column).stored)
        if name in widened or name in made
        else active[name]
        for name, column in target.by_name.items()
    ]
    for schema in (*lists[:-1], *others):
        for column in schema.columns:
            if _place(column, target, retired) is None:
                (one,) = new_columns([described(column)], last_id)
                retired.append(_retired(one, column["name"]))
                last_id = highest_id([one])
    own = [column for column in columns if _is_own(column)]
    result = (*current, *_renamed(retired, [*current, *own]), *own)
    return ColumnChange(result, frozenset(made), frozenset(widened))


def has_same_key(one: TableSchema, other: TableSchema) -> bool:
    """Return whether two lists have the same key, in the same columns of a mirror."""
    if one.key != other.key:
        return False
    pairs = [(one.by_name[name], other.by_name[name]) for name in one.key]
    return all(fits(a, b) or fits(b, a) for a, b in pairs)


def renamed_columns(
    schema: TableSchema, target: TableSchema, columns: Sequence[Column]
) -> Mapping[str, str]:
    """Return the columns of `schema` whose values have another name in a mirror of `target`."""
    retired = [column for column in columns if _RETIRED in column.metadata]
    renamed = {}
    for column in schema.columns:
        name, place = column["name"], _place(column, target, retired)
        if place is not None and place != name:
            renamed[name] = place
    return renamed


def _place(column: SchemaColumn, target: TableSchema, retired: Sequence[Column]) -> str | None:
    """Return the name of the column that holds the values of `column`; None if there is none."""
    name = column["name"]
    now = target.by_name.get(name)
    if now is not None and fits(now, column):
        return name
    kind = ColumnType.of(column).stored
    for own in reversed(retired):
        is_same = own.metadata[_RETIRED] == name
        if is_same and (own.type == kind or holds(own.type, kind)):
            found: str = own.name
            return found
    return None


def _retired(column: Column, name: str) -> Column:
    return column._replace(metadata={**column.metadata, _RETIRED: name})


def _renamed(retired: Sequence[Column], others: Sequence[Column]) -> list[Column]:
    """Return retired columns with names that no other column has; readers ignore upper case."""
    used = {column.name.lower() for column in others}
    result = []
    for column in retired:
        name, number = column.name, 1
        while name.lower() in used:
            number += 1
            name = f"{column.metadata[_RETIRED]}__{number}"
        used.add(name.lower())
        result.append(column._replace(name=name))
    return result


def _is_own(column: Column) -> bool:
    return column.name.startswith(OWN_PREFIX)
