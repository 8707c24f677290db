"""The forms of a decoded cell; five things that are not a value each have their own form.

NULL is `None`, an empty SET is `""`, a column that the row image leaves out is `ABSENT`, a zero
date is MySQL's text for it, and an ENUM index without a label is an `EnumIndex`.

A character column is `str`. It is `bytes`, as stored, if the log does not name the character set,
or if the bytes are not text of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


# The row image does not hold the column (binlog_row_image=MINIMAL or NOBLOB).
ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class EnumIndex:
    """The stored number of an ENUM value whose label is not in the table map."""

    index: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """A geometry: its spatial reference system and its Well-Known Binary form."""

    srid: int
    wkb: bytes


class JsonOperation(Enum):
    """What a `JsonDiff` does at its path."""

    REPLACE = "replace"  # the existing value
    INSERT = "insert"  # a new member, or an element before the existing one
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class JsonDiff:
    """One change of a JSON document."""

    operation: JsonOperation
    path: str  # `$.a[0]."b c"`
    value: str | None  # the text that MySQL prints; None for REMOVE


@dataclass(frozen=True, slots=True)
class JsonDiffs:
    """The changes, in order, that turn the document of the before image into the one after.

    With binlog_row_value_options=PARTIAL_JSON the after image holds these, not the document.
    """

    diffs: tuple[JsonDiff, ...]


Value = int | float | str | bytes | list[float] | EnumIndex | Geometry | JsonDiffs | Absent | None
