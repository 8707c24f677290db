"""A change of a mirror's columns as one ALTER TABLE at the target.

MySQL commits at each DDL statement, so it runs before the transaction of the cut. It is made of
what the table lacks now: if the process dies in between, the next one finds nothing left to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.codec.sql_text import quoted_identifier
from connector.contract import INTEGER_TYPES
from stream_jobs.replica.definitions import definition, primary_key

if TYPE_CHECKING:
    from connector.contract import SchemaColumn
    from stream_jobs.replica.column_list import ColumnList
    from stream_jobs.replica.definitions import CharacterSets
    from stream_jobs.replica.existing_table import ExistingTable
    from stream_jobs.replica.statements import TableName

# Types that MODIFY changes without a wrong value.
_FAMILIES = (frozenset(INTEGER_TYPES), frozenset({"char", "varchar", "text"}))


class Alteration(NamedTuple):
    """What the table needs to have other columns."""

    sql: str  # empty: nothing
    # Whether a column lost its values, so that the whole table must be loaded.
    must_load: bool
    has_other_key: bool = False


def alteration(
    name: TableName,
    old: ColumnList,
    new: ColumnList,
    existing: ExistingTable,
    sets: CharacterSets,
) -> Alteration:
    """Return how a table with the columns `old` of a mirror gets the columns `new`."""
    clauses, must_load = [], False
    before = dict(zip(old.ids, old.columns, strict=True))
    by_name = {column["name"]: column for column in old.columns}
    here = set(existing.columns) - existing.generated
    last = ""
    for number, column in zip(new.ids, new.columns, strict=True):
        own = column["name"].lower()
        text, place = (
            definition(column, sets),
            f" AFTER {quoted_identifier(last)}" if last else " FIRST",
        )
        last = column["name"]
        former = before.get(number)
        if own in existing.generated:
            continue
        if former is not None and former["name"].lower() in here - {own} and own not in here:
            clauses.append(f"CHANGE COLUMN {quoted_identifier(former['name'])} {text}")
            here.discard(former["name"].lower())
            continue
        if own not in here:
            clauses.append(f"ADD COLUMN {text}{place}")
            continue
        same = by_name.get(column["name"])
        must_load |= same is not None and former is not same
        if same is None or definition(same, sets) == text:
            continue
        if column["key"] or _is_kept(same, column):
            clauses.append(f"MODIFY COLUMN {text}")
        else:
            clauses += [f"DROP COLUMN {quoted_identifier(last)}", f"ADD COLUMN {text}{place}"]
            must_load = True
    kept = {column["name"].lower() for column in new.columns}
    dropped = [column["name"] for column in old.columns if column["name"].lower() not in kept]
    clauses += [
        f"DROP COLUMN {quoted_identifier(each)}" for each in dropped if each.lower() in here
    ]
    has_other_key = existing.lower_key != [column["name"].lower() for column in new.key]
    if has_other_key:
        clauses += ["DROP PRIMARY KEY"] if existing.key else []
        clauses.append(f"ADD {primary_key(new)}")
    sql = f"ALTER TABLE {name.sql} {', '.join(clauses)}" if clauses else ""
    return Alteration(sql, must_load or has_other_key, has_other_key)


def _is_kept(old: SchemaColumn, new: SchemaColumn) -> bool:
    """Return whether MODIFY takes the values of the old type as they are."""
    kinds = {old["type"], new["type"]}
    if kinds <= _FAMILIES[0]:
        return old.get("unsigned") == new.get("unsigned")
    return len(kinds) == 1 or kinds <= _FAMILIES[1]
