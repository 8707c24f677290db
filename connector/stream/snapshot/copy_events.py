"""What happens to copies in a turn of their scheduler, in the order in which it happens.

Each is handled before the turn goes on: what follows may depend on the records that it causes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.stream.snapshot.reader_jobs import ChunkRead

if TYPE_CHECKING:
    from connector.stream.snapshot.table_copy import TableCopy


@dataclass(frozen=True, slots=True)
class CopyStart:
    """The first rows of a copy are to be read."""

    copy: TableCopy


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """A chunk with rows was written."""

    copy: TableCopy
    chunk: ChunkRead


@dataclass(frozen=True, slots=True)
class CopyEnd:
    """All rows of a copy are written."""

    copy: TableCopy


@dataclass(frozen=True, slots=True)
class CopyFailure:
    """A copy cannot go on."""

    copy: TableCopy
    error: Exception


@dataclass(frozen=True, slots=True)
class TableAbsence:
    """No table has the name of a copy that no user asked for."""

    copy: TableCopy


CopyEvent = CopyStart | CopyProgress | CopyEnd | CopyFailure | TableAbsence
