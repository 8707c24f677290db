"""What the tables of a source hold, behind each group of a story."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.simulation.story import (
    AddColumn,
    Cascade,
    Create,
    Drop,
    Exchange,
    Outcome,
    PartlyRolledBack,
    Prepared,
    Transaction,
    Truncate,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.simulation.story import Change, Step

Rows = dict[int, str]  # text by id


@dataclass(frozen=True, slots=True)
class TableContent:
    """A table at one position of the log; nobody changes `rows`."""

    rows: Rows
    added: int = 0  # columns that were added
    definition: int = 0  # how often it was defined anew
    exists: bool = True


class TableHistory:
    """The tables of a story; `behind[n]` has them by name behind its first n groups."""

    def __init__(self, initial: Mapping[str, Rows], groups: Iterable[Step]) -> None:
        """Begin with `initial` rows, of which the log says nothing."""
        tables = {table: TableContent(rows) for table, rows in initial.items()}
        self.behind: list[dict[str, TableContent]] = [tables]
        # Of each group: the tables that it changes, and those that XA PREPARE holds behind it.
        self.changed: list[set[str]] = [set()]
        self.held: list[set[str]] = [set()]
        # And those that it changes without a trace in the log.
        self.cascaded: list[set[str]] = [set()]
        # Of each number of groups: how many of them there are up to the last DDL.
        self.last_ddl = [0]
        held: dict[str, set[str]] = {}
        for number, step in enumerate(groups, 1):
            tables = {**tables, **_changed(tables, step)}
            before = self.behind[-1]
            self.behind.append(tables)
            self.changed.append({name for name in tables if tables[name] is not before[name]})
            hidden = step.hidden if isinstance(step, Cascade) else ()
            self.cascaded.append({change.table for change in hidden})
            if isinstance(step, Prepared):
                held[step.xid] = {change.table for change in step.changes}
            elif isinstance(step, Outcome):
                del held[step.prepared.xid]
            self.held.append({table for tables_held in held.values() for table in tables_held})
            redefined = any(
                content.definition != before[name].definition for name, content in tables.items()
            )
            self.last_ddl.append(number if redefined else self.last_ddl[-1])


def _changed(tables: Mapping[str, TableContent], step: Step) -> dict[str, TableContent]:
    match step:
        case Transaction() | Outcome(committed=True) | PartlyRolledBack():
            return _with_rows(tables, _committed(step))
        case Truncate(table=table):
            return {table: replace(tables[table], rows={})}
        case Exchange(table=table):
            content = tables[table]
            rows = {**content.rows, **step.rows}
            return {table: replace(content, rows=rows, definition=content.definition + 1)}
        case AddColumn(table=table):
            content = tables[table]
            added, definition = content.added + 1, content.definition + 1
            return {table: replace(content, added=added, definition=definition)}
        case Drop(table=table) | Create(table=table):
            definition = tables[table].definition + 1
            exists = isinstance(step, Create)
            return {table: TableContent({}, definition=definition, exists=exists)}
    return {}


def _committed(step: Step) -> tuple[Change, ...]:
    if isinstance(step, Cascade):
        return (*step.changes, *step.hidden)
    if isinstance(step, Transaction):
        return step.changes
    if isinstance(step, Outcome):
        return step.prepared.changes
    assert isinstance(step, PartlyRolledBack)
    return (*step.before, *step.after)


def _with_rows(
    tables: Mapping[str, TableContent], changes: tuple[Change, ...]
) -> dict[str, TableContent]:
    rows = {name: dict(tables[name].rows) for name in {change.table for change in changes}}
    for change in changes:
        of_table = rows[change.table]
        if change.operation == "d" or change.new_id is not None:
            del of_table[change.id]
        if change.operation != "d":
            of_table[change.id if change.new_id is None else change.new_id] = change.text
    return {name: replace(tables[name], rows=of_table) for name, of_table in rows.items()}
