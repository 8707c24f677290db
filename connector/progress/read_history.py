"""What a stream has read, and what a server says was before one of its files.

A server whose logs are reset goes on sending, to a stream that is open, after what the stream has
read: without a word, and without the transactions whose numbers it takes for read. But each file
says what was before it. When the stream comes to another file, what it has read before is in front
of that file; where it is not, the history has begun again.
"""

from __future__ import annotations

from typing import final
from uuid import UUID

from connector.gtid.mariadb import MariadbGtidSet
from connector.gtid.mysql import GtidSet


@final
class ReadHistory:
    """Compares what was read with what the server's files say; one for each stream."""

    def __init__(
        self, start: GtidSet | MariadbGtidSet | None, server_uuid: str, server_id: int
    ) -> None:
        """Begin after `start`, on the server with these names of its own."""
        self._start = None if start is None else start.copy()
        self._server_uuid = server_uuid
        self._server_id = server_id

    def missing(
        self, read: GtidSet | MariadbGtidSet | None, before: GtidSet | MariadbGtidSet
    ) -> GtidSet | MariadbGtidSet | None:
        """Return what of `read` must be, and is not, in a file that comes after `before`.

        That is what came in this stream, and the server's own transactions. Those of others that
        were read elsewhere may come later in this log, or never were in it.
        """
        start = self._start
        if isinstance(start, GtidSet) and isinstance(read, GtidSet) and isinstance(before, GtidSet):
            behind = read - before
            if behind and behind.has_server(UUID(self._server_uuid)):
                return behind
            return behind - start
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
