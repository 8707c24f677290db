"""The source of whole events that are not decoded yet: a file, or a server."""

from __future__ import annotations


class EventSource:
    """Gives the events of a log one by one, in their order."""

    __slots__ = ()

    def next_event(self) -> bytes | None:
        """Return the next event in the form of a file, None if there is none now."""
        raise NotImplementedError
