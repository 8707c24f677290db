"""Columns that the log leaves out, and columns that only the log has.

Newer MariaDB servers log generated columns in rows of INSERT, and not in those of UPDATE and
DELETE, in each `binlog_row_image`. The columns of a system period (ROW START, ROW END) are always
there. The same goes for hidden columns, which no SELECT shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.codec.sql_text import sql_text
from connector.envelope.schemas.unlogged_columns import UnloggedColumns
from connector.source.server.identity import another_answered
from connector.source.server.product import version_of
from connector.source.server.select_session import SelectSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from connector.progress.server_identity import ServerIdentity
    from connector.settings.sections import SourceSettings

_PERIOD = frozenset({"ROW START", "ROW END"})


def unlogged_columns(
    identity: ServerIdentity, columns: Iterable[Mapping[str, object]]
) -> frozenset[str]:
    """Return the names of columns that the log of a server leaves out.

    `columns` have their `name`, and as `computed_as` their `generation_expression`.
    """
    if not version_of(identity).leaves_out_generated:
        return frozenset()
    return frozenset(
        str(column["name"])
        for column in columns
        if column["computed_as"] and column["computed_as"] not in _PERIOD
    )


class HiddenColumns(UnloggedColumns):
    """Asks one server."""

    def __init__(self, settings: SourceSettings, identity: ServerIdentity) -> None:
        """Ask the server of `settings`, which must be `identity`."""
        self._settings = settings
        self._identity = identity
        self.leaves_out_generated = version_of(identity).leaves_out_generated

    def of(self, database: str, table: str, suspects: frozenset[str]) -> frozenset[str]:
        """Return the generated columns that the table has now, and `suspects` that it has not."""
        if not suspects and not self.leaves_out_generated:
            return frozenset()
        with SelectSession(self._settings) as session:
            if session.identity.server_uuid != self._identity.server_uuid:
                raise another_answered(session.name)
            found = session.query(
                "SELECT column_name AS name, generation_expression AS computed_as "  # noqa: S608 - quoted
                f"FROM information_schema.columns WHERE table_schema = {sql_text(database)} "
                f"AND table_name = {sql_text(table)}"
            )
        shown = {row["name"] for row in found}
        return unlogged_columns(self._identity, found) | (suspects - shown)
