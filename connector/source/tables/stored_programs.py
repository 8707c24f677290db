"""The bodies of the triggers, routines and views that a statement invokes.

https://dev.mysql.com/doc/refman/8.4/en/information-schema-routines-table.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.codec.sql_text import sql_text
from connector.errors import SourceRefused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from connector.source.server.select_session import SelectSession


@dataclass(frozen=True, slots=True)
class StoredBody:
    """A program that a statement invokes; names in it without a database are in `database`."""

    shown: str
    database: str
    body: str | None  # None for an account that may not read it
    updatable: bool = False  # a view through which rows can be changed
    parameters: int = 0  # of a procedure


class StoredPrograms:
    """Asks one server."""

    def __init__(self, session: SelectSession) -> None:
        """Ask over `session`."""
        self._session = session

    def triggers(self, database: str, table: str, events: AbstractSet[str]) -> Iterator[StoredBody]:
        """Yield the triggers of a table for these events."""
        rows = self._session.query(
            "SELECT trigger_name AS name, event_manipulation AS event, action_statement AS body "  # noqa: S608 - quoted
            f"FROM information_schema.triggers WHERE event_object_schema = {sql_text(database)} "
            f"AND event_object_table = {sql_text(table)}"
        )
        for row in rows:
            if row["event"] in events:
                yield StoredBody(f"trigger {database}.{row['name']}", database, row["body"])

    def view(self, database: str, name: str) -> StoredBody | None:
        """Return the view of that name, or None."""
        rows = self._session.query(
            "SELECT view_definition AS body, is_updatable AS updatable "  # noqa: S608 - quoted
            "FROM information_schema.views "
            f"WHERE table_schema = {sql_text(database)} AND table_name = {sql_text(name)}"
        )
        for row in rows:
            # The text is empty for an account without SHOW VIEW.
            body = row["body"] or None
            return StoredBody(f"view {database}.{name}", database, body, row["updatable"] == "YES")
        return None

    def function(self, database: str, name: str) -> StoredBody | None:
        """Return the stored function of that name, or None."""
        return self._routine("FUNCTION", database, name)

    def procedure(self, database: str, name: str) -> StoredBody | None:
        """Return the procedure of that name, or None."""
        return self._routine("PROCEDURE", database, name)

    def _routine(self, kind: str, database: str, name: str) -> StoredBody | None:
        where = f"routine_schema = {sql_text(database)} AND routine_name = {sql_text(name)}"
        rows = self._session.query(
            "SELECT routine_definition AS body, specific_name AS unique_name "  # noqa: S608 - quoted
            f"FROM information_schema.routines WHERE routine_type = '{kind}' AND {where}"
        )
        for row in rows:
            ((counted,),) = [
                tuple(each.values())
                for each in self._session.query(
                    "SELECT COUNT(*) AS n FROM information_schema.parameters "  # noqa: S608 - quoted
                    f"WHERE specific_schema = {sql_text(database)} "
                    f"AND specific_name = {sql_text(row['unique_name'] or '')} "
                    f"AND routine_type = '{kind}' AND ordinal_position > 0"
                )
            ]
            shown = f"{kind.lower()} {database}.{name.lower()}"
            return StoredBody(shown, database, row["body"], parameters=int(counted or 0))
        return None

    def is_loadable(self, name: str) -> bool:
        """Return whether the function is a UDF, as far as the account may know."""
        try:
            return bool(
                self._session.query(
                    f"SELECT 1 FROM mysql.func WHERE name = {sql_text(name.lower())}"  # noqa: S608 - quoted
                )
            )
        except SourceRefused:
            return False
