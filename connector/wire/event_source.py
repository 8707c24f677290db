"""What events come from, whole and not decoded: a file, or a server."""

from __future__ import annotations


class EventSource:
    """Hands out the events of a log, in their order."""

    __slots__ = ()

    def next_event(self) -> bytes | None:
        """Return the next event as it is in a file, None if there is none now."""
        raise NotImplementedError
