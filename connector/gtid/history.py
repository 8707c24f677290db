"""What a stream has read, and what a server says was before one of its files.

A server whose logs are reset goes on sending, to a stream that is open, behind what the stream has
read: without a word, and without the transactions whose numbers it takes for read. But each file
says what was before it. When the stream comes to another file, what it has read before is in front
of that file; where it is not, the history has begun anew.
"""

from __future__ import annotations

from typing import final

from connector.gtid.mariadb import MariadbGtidSet
from connector.gtid.mysql import GtidSet


@final
class ReadHistory:
    """Compares what came in one stream with what the server's files say."""

    def __init__(self, start: GtidSet | MariadbGtidSet | None) -> None:
        """Begin behind `start`."""
        self._start = None if start is None else start.copy()

    def missing(
        self, read: GtidSet | MariadbGtidSet | None, before: GtidSet | MariadbGtidSet
    ) -> GtidSet | MariadbGtidSet | None:
        """Return what of `read` must be, and is not, in front of a file that is behind `before`.

        That is what came in this stream. What was read before it may come later in this log, where
        another server committed it or where the stream reads something again; or the log never had
        it.
        """
        start = self._start
        if isinstance(start, GtidSet) and isinstance(read, GtidSet) and isinstance(before, GtidSet):
            return read - before - start
        if (
            isinstance(start, MariadbGtidSet)
            and isinstance(read, MariadbGtidSet)
            and isinstance(before, MariadbGtidSet)
        ):
            return read - before - start
        return None
