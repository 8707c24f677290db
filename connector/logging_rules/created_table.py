"""The columns and unique keys of a table that a statement creates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from connector.logging_rules.table import TableColumn, UniqueKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot.expressions import Expr


def created_columns(tree: Expr) -> tuple[TableColumn, ...]:
    """Return the columns that CREATE TABLE defines; those of its SELECT are not known."""
    return tuple(
        TableColumn(
            column.name, auto_increment=column.find(exp.AutoIncrementColumnConstraint) is not None
        )
        for column in _definitions(tree)
        if isinstance(column, exp.ColumnDef)
    )


def created_keys(tree: Expr) -> tuple[UniqueKey, ...]:
    """Return the unique keys that CREATE TABLE defines, the primary key first."""
    keys = list(_keys(tree))
    return tuple(sorted(keys, key=lambda key: not key.primary))


def created_counter_not_first(tree: Expr) -> bool:
    """Return whether CREATE TABLE defines an AUTO_INCREMENT column with which no index begins."""
    counter = next((each.name for each in created_columns(tree) if each.auto_increment), None)
    if counter is None:
        return False
    first = {key.columns[0] for key in _keys(tree)}
    for index in _definitions(tree):
        if isinstance(index, exp.IndexColumnConstraint):
            first |= set(list(_columns(index.expressions))[:1])
    return counter not in first


def _definitions(tree: Expr) -> list[Expr]:
    if not isinstance(tree, exp.Create) or not isinstance(tree.this, exp.Schema):
        return []
    return list(tree.this.expressions)


def _keys(tree: Expr) -> Iterator[UniqueKey]:
    for each in _definitions(tree):
        if isinstance(each, exp.ColumnDef):
            if each.find(exp.PrimaryKeyColumnConstraint) is not None:
                yield UniqueKey("PRIMARY", (each.name,))
            if each.find(exp.UniqueColumnConstraint) is not None:
                yield UniqueKey(each.name, (each.name,))
            continue
        for part in (each, *each.find_all(exp.PrimaryKey, exp.UniqueColumnConstraint)):
            if isinstance(part, exp.PrimaryKey):
                yield UniqueKey("PRIMARY", tuple(_columns(part.expressions)))
                break
            if isinstance(part, exp.UniqueColumnConstraint):
                schema = part.this
                yield UniqueKey(
                    schema.this.name if schema.this else "", tuple(_columns(schema.expressions))
                )
                break


def _columns(parts: list[Expr]) -> Iterator[str]:
    for part in parts:
        column = part.find(exp.Column)
        yield (part if column is None else column).name
