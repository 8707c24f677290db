"""What a decoded cell can be: five things that are not a value each have their own form.

NULL is `None`, an empty SET is `""`, a column that the row image leaves out is `ABSENT`, a zero
date is MySQL's text for it, and an ENUM index without a label is an `EnumIndex`.
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


Value = int | float | str | bytes | list[float] | EnumIndex | Geometry | Absent | None
