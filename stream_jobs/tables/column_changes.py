"""Changes of a mirror's columns: the effect of a new column list on columns and rows.

Data files know columns by ids, so a column that is dropped or moved changes nothing but metadata.
A column with a value in existing rows, or with a wider type, needs the rows to be written anew.
These changes do not matter for a mirror: NULL and NOT NULL, lengths, character sets, labels, and
types with the same JSON form and Spark type (VARCHAR to TEXT).

Where the source did not keep the rows as they were, the connector truncates and copies the table,
and the mirror is empty when the new list comes: it then takes any list.

Some mirrors keep what the source loses. A dropped column stays, and is NULL in later rows. If a
column gets a type that does not hold its old values, the old column gets another name
(`name__2`), and a new one is added. Column mapping makes both a change of metadata alone. A
column that the source no longer has is *retired*; its metadata says which name it had.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import pyarrow as pa

from connector.foundation.contract import SchemaColumn
from stream_jobs.apply.modes.mode import ModeColumn
from stream_jobs.delta.columns import Column, highest_id, new_columns
from stream_jobs.errors import SchemaUnfollowed, job_errors
from stream_jobs.source.column_types import ColumnType, holds_all_values, type_text
from stream_jobs.source.sequence import HI, LO, PackedSequence
from stream_jobs.source.table_schema import OWN_PREFIX, TableSchema

_COMMENTS = {
    HI: "cdc.seq: epoch, file and position",
    LO: "cdc.seq: event and row",
}
# In the metadata of a column: its type at the source.
TYPE_KEY: Final = "cdc.type"


class ColumnChange(NamedTuple):
    """What a mirror needs to have another column list."""

    columns: tuple[Column, ...]
    added: frozenset[str]
    widened: frozenset[str]
    # Of a shard: columns that other shards keep, so that its rows are written without them; and
    # added ones in which its rows have values of a column that it had before.
    left: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()


class SchemaChange(NamedTuple):
    """Another column list of a mirror."""

    schema: TableSchema
    since: PackedSequence  # from where on the table has it
    columns: tuple[Column, ...]
    # Columns that existing rows get a value in; None: rows are not written anew.
    rewrite: Mapping[str, SchemaColumn] | None
    # Whether all files go, which have no live rows.
    is_replaced: bool = False
    # Whether the rows of other shards are written again, too: for a wider type.
    is_shared: bool = False


def all_columns(
    schema: TableSchema, last_id: int = 0, more: Sequence[ModeColumn] = ()
) -> tuple[Column, ...]:
    """Return new columns of a mirror: the source's, `more` of its mode, and the sequence."""
    own = [column_description(column) for column in schema.columns]
    hidden = [(column.name, column.type, {"comment": column.comment}) for column in more]
    hidden += [(name, pa.int64(), {"comment": text}) for name, text in _COMMENTS.items()]
    return new_columns([*own, *hidden], last_id)


def changed_columns(
    columns: Sequence[Column],
    lists: Sequence[TableSchema],
    last_id: int,
    path: str,
) -> ColumnChange:
    """Return the columns of a mirror that goes through `lists`, the current one first.

    A column that one of them lacks is another one when it comes back. Raises SchemaUnfollowed if
    the rows of the mirror do not hold what the last list needs.
    """
    target = lists[-1]
    kept = {column.name: column for column in columns}
    widened: set[str] = set()
    for older, newer in pairwise(lists):
        _refuse_other_key(older, newer, path)
        for name in older.by_name.keys() - newer.by_name.keys():
            kept.pop(name, None)
        for name in kept.keys() & newer.by_name.keys() & older.by_name.keys():
            if is_wider(older.by_name[name], newer.by_name[name], newer, path):
                widened.add(name)
    added = [column for column in target.columns if column["name"] not in kept]
    made = {
        c.name: c for c in new_columns([column_description(column) for column in added], last_id)
    }
    result = []
    for column in target.columns:
        name = column["name"]
        if name in made:
            result.append(made[name])
        else:
            own = kept[name]
            metadata = {**own.metadata, TYPE_KEY: type_text(column)}
            stored = ColumnType.of(column).stored if name in widened else own.type
            result.append(own._replace(type=stored, metadata=metadata))
    result += [column for column in columns if column.name.startswith(OWN_PREFIX)]
    return ColumnChange(tuple(result), frozenset(made), frozenset(widened & kept.keys()))


def refuse_other_types(older: TableSchema, target: TableSchema, path: str) -> None:
    """Raise SchemaUnfollowed unless rows of `older` fit into the columns of `target`."""
    _refuse_other_key(older, target, path)
    for name in older.by_name.keys() & target.by_name.keys():
        is_wider(older.by_name[name], target.by_name[name], target, path)


def _refuse_other_key(older: TableSchema, newer: TableSchema, path: str) -> None:
    if newer.key != older.key:
        raise SchemaUnfollowed(
            job_errors.KEY_CHANGED, table=newer.name, before=older.key, now=newer.key, path=path
        )


def is_wider(older: SchemaColumn, newer: SchemaColumn, schema: TableSchema, path: str) -> bool:
    """Return whether `newer` has a wider type, not the same; raises for any other change."""
    before, now = ColumnType.of(older).stored, ColumnType.of(newer).stored
    if before == now:
        return False
    if not holds_all_values(now, before):
        raise SchemaUnfollowed(
            job_errors.COLUMN_RETYPED,
            table=schema.name,
            column=newer["name"],
            before=type_text(older),
            now=type_text(newer),
            path=path,
        )
    return True


def fits_all_values(now: SchemaColumn, before: SchemaColumn) -> bool:
    """Return whether a column that is `now` holds every value that it had `before`."""
    return holds_all_values(ColumnType.of(now).stored, ColumnType.of(before).stored)


def column_description(column: SchemaColumn) -> tuple[str, pa.DataType, dict[str, object]]:
    """Return the name, the type and the metadata of a column in a mirror."""
    return column["name"], ColumnType.of(column).stored, {TYPE_KEY: type_text(column)}


# In the metadata of a retired column: its name at the source.
RETIRED: Final = "cdc.retired"


def retained_columns(
    columns: Sequence[Column],
    lists: Sequence[TableSchema],
    others: Iterable[TableSchema],
    last_id: int,
) -> ColumnChange:
    """Return the columns of a mirror that goes through `lists`, the current one first.

    Rows of the `others`, older lists, find a place for all of their values, too.
    """
    target = lists[-1]
    active = {c.name: c for c in columns if not _is_own(c) and RETIRED not in c.metadata}
    retired = [column for column in columns if RETIRED in column.metadata]
    widened: set[str] = set()
    for older, newer in pairwise(lists):
        for name in older.by_name.keys() & active.keys():
            before, now = older.by_name[name], newer.by_name.get(name)
            if now is None or not fits_all_values(now, before):
                retired.append(_retired(active.pop(name), name))
                widened.discard(name)
            elif ColumnType.of(before).stored != ColumnType.of(now).stored:
                widened.add(name)
    new = [column for column in target.columns if column["name"] not in active]
    made = {c.name: c for c in new_columns([column_description(column) for column in new], last_id)}
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
                (one,) = new_columns([column_description(column)], last_id)
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
    return all(fits_all_values(a, b) or fits_all_values(b, a) for a, b in pairs)


def renamed_columns(
    schema: TableSchema, target: TableSchema, columns: Sequence[Column]
) -> Mapping[str, str]:
    """Return the columns of `schema` whose values have another name in a mirror of `target`."""
    retired = [column for column in columns if RETIRED in column.metadata]
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
    if now is not None and fits_all_values(now, column):
        return name
    kind = ColumnType.of(column).stored
    for own in reversed(retired):
        is_same = own.metadata[RETIRED] == name
        if is_same and holds_all_values(own.type, kind):
            own_name: str = own.name
            return own_name
    return None


def _retired(column: Column, name: str) -> Column:
    return column._replace(metadata={**column.metadata, RETIRED: name})


def _renamed(retired: Sequence[Column], others: Sequence[Column]) -> list[Column]:
    """Return retired columns with names that no other column has; readers ignore upper case."""
    used = {column.name.lower() for column in others}
    result = []
    for column in retired:
        name, number = column.name, 1
        while name.lower() in used:
            number += 1
            name = f"{column.metadata[RETIRED]}__{number}"
        used.add(name.lower())
        result.append(column._replace(name=name))
    return result


def _is_own(column: Column) -> bool:
    return column.name.startswith(OWN_PREFIX)
