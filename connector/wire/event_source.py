"""The source of whole events that are not decoded yet: a file, or a server."""

from __future__ import annotations

from typing import Final

# The server's largest max_allowed_packet, 1 GiB, and generous room for the event's headers.
EVENT_BYTES_MAX: Final = 2**30 + 2**16


class EventSource:
    """Gives the events of a log one by one, in their order."""

    __slots__ = ()

    def next_event(self) -> bytes | None:
        """Return the next event in the form of a file, None if there is none now."""
        raise NotImplementedError
