"""The tables that foreign keys make a statement read and write, on MySQL since 9.6.

There the server itself checks keys and cascades, and locks their tables as it locks those of
triggers. Before, and with `innodb_native_foreign_keys`, InnoDB does so below the rules of the log.

https://dev.mysql.com/doc/refman/9.6/en/create-table-foreign-keys.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from connector.changes.foreign_keys import CASCADE, SET_NULL
from connector.codec.sql_text import sql_text
from connector.source.tables.foreign_keys import logs_cascades

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.logging_rules.parsed_statement import TableName
    from connector.source.server.select_session import SelectSession

_CHANGES_CHILDREN: Final = frozenset({CASCADE, SET_NULL})


class _Key(NamedTuple):
    """A foreign key between two tables, and what it does to the child."""

    child: TableName
    parent: TableName
    on_delete: str
    on_update: str


class ForeignKeyUses:
    """Asks one server."""

    def __init__(self, session: SelectSession) -> None:
        """Ask over `session`."""
        self._session = session
        self._in_server: bool | None = None

    def of(self, table: TableName, events: Iterable[str]) -> Iterator[tuple[TableName, bool]]:
        """Yield tables, and whether they are written: for INSERT, UPDATE or DELETE of a table.

        The server looks at the events alone, not at the columns or rows.
        """
        if self._in_server is None:
            self._in_server = logs_cascades(self._session.query)
        waiting = [(table, event) for event in events] if self._in_server else []
        done = set()
        while waiting:
            name, event = waiting.pop()
            if (name, event) in done:
                continue
            done.add((name, event))
            for key in self._keys(name):
                if key.child == name:
                    if event != "DELETE":
                        yield key.parent, False
                elif event != "INSERT":
                    rule = key.on_delete if event == "DELETE" else key.on_update
                    yield key.child, rule in _CHANGES_CHILDREN
                    if rule in _CHANGES_CHILDREN:
                        deletes = event == "DELETE" and rule == CASCADE
                        waiting.append((key.child, "DELETE" if deletes else "UPDATE"))

    def _keys(self, table: TableName) -> list[_Key]:
        """Return the keys to and from the table; those to itself need no other lock."""
        database, name = map(sql_text, table)
        rows = self._session.query(
            "SELECT constraint_schema AS db, table_name AS child, "  # noqa: S608 - quoted
            "unique_constraint_schema AS parent_db, referenced_table_name AS parent, "
            "delete_rule AS on_delete, update_rule AS on_update "
            "FROM information_schema.referential_constraints "
            f"WHERE (constraint_schema = {database} AND table_name = {name}) "
            f"OR (unique_constraint_schema = {database} AND referenced_table_name = {name})"
        )
        keys = [
            _Key(
                (row["db"] or "", row["child"] or ""),
                (row["parent_db"] or "", row["parent"] or ""),
                row["on_delete"] or "",
                row["on_update"] or "",
            )
            for row in rows
        ]
        return [key for key in keys if key.child != key.parent]
