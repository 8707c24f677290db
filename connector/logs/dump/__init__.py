"""The command `dump`: events of logs as lines, in one of four formats."""

from enum import StrEnum


class Format(StrEnum):
    """The form of a dump's output."""

    EVENTS = "events"
    TEXT = "text"
    JSON = "json"
    ENVELOPE = "envelope"

    @property
    def by_file(self) -> bool:
        """Whether the lines of a file do not depend on the files before it."""
        # Schemas and sequences do.
        return self is not Format.ENVELOPE
