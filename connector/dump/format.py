"""The formats of a dump, by their names on the command line."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """What a dump looks like."""

    EVENTS = "events"
    TEXT = "text"
    JSON = "json"
    ENVELOPE = "envelope"
