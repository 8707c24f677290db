"""What the model predicts: groups of the log, with their entries.

Annotations and the values of a statement's variables belong to the entry after them,
so they have no entries of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.logging_rules.row_images import Change


@dataclass(frozen=True, slots=True)
class LoggedText:
    """The text of a statement."""

    text: str


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """Row events of one table, without another entry between them."""

    table: str
    change: Change


@dataclass(frozen=True, slots=True)
class LoggedTable:
    """CREATE TABLE with the columns that a CREATE TABLE … SELECT gave the table."""

    table: str


@dataclass(frozen=True, slots=True)
class LoggedFile:
    """LOAD DATA in the words of the server, with the file."""

    table: str


@dataclass(frozen=True, slots=True)
class LoggedHead:
    """What comes before a change: a table map, or the file of LOAD DATA. It fills a cache, too."""

    table: str


Entry = LoggedText | LoggedFile | LoggedHead | LoggedRows | LoggedTable


class Ending(Enum):
    """How a group ends."""

    XID = "XID"  # engines with transactions took part
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    PREPARE = "XA PREPARE"
    ONE_PHASE = "XA COMMIT … ONE PHASE"
    ALONE = "alone"  # a statement without BEGIN, which commits itself


@dataclass(frozen=True, slots=True)
class Group:
    """The entries of a group, in their order."""

    entries: tuple[Entry, ...]
    ending: Ending


def joined(entries: list[Entry]) -> tuple[Entry, ...]:
    """Return the entries without heads; the same rows in succession are one entry."""
    found: list[Entry] = []
    for entry in entries:
        if isinstance(entry, LoggedHead):
            continue
        if not (isinstance(entry, LoggedRows) and found and found[-1] == entry):
            found.append(entry)
    return tuple(found)
