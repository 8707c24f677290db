"""Compares what a stream has read with what a server says was before one of its files.

A server whose logs are reset continues an open stream without a message, and leaves out new
transactions whose numbers it takes for read. But each file says which transactions were before it.
When the stream comes to another file, everything read before must be among these; if it is not, the
server's history has started again.
"""

from __future__ import annotations

from typing import final
from uuid import UUID

from connector.gtid.mariadb import MariadbGtidSet
from connector.gtid.mysql import GtidSet


@final
class ReadHistory:
    """Compares what was read with what the server's files say; one object for each stream."""

    def __init__(
        self, start: GtidSet | MariadbGtidSet | None, server_uuid: str, server_id: int
    ) -> None:
        """Begin after `start`, on the server with this UUID (MySQL) or id (MariaDB)."""
        self._start = None if start is None else start.copy()
        self._server_uuid = server_uuid
        self._server_id = server_id

    def missing(
        self, read: GtidSet | MariadbGtidSet | None, before: GtidSet | MariadbGtidSet
    ) -> GtidSet | MariadbGtidSet | None:
        """Return the part of `read` that must be in `before`, the list of a later file, but is not.

        It covers what came in this stream, and the server's own transactions. Transactions of other
        servers that were read elsewhere may come later in this log, or are not in it at all.
        """
        start = self._start
        if isinstance(start, GtidSet) and isinstance(read, GtidSet) and isinstance(before, GtidSet):
            missing = read - before
            if missing and missing.has_server(UUID(self._server_uuid)):
                return missing
            return missing - start
        if (
            isinstance(start, MariadbGtidSet)
            and isinstance(read, MariadbGtidSet)
            and isinstance(before, MariadbGtidSet)
        ):
            streamed = read - start
            return MariadbGtidSet.of(
                gtid
                for gtid in read - before
                if gtid.server_id == self._server_id or gtid in streamed
            )
        return None
