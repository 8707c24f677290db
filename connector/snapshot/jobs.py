"""What readers are asked for, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.envelope.copied.selected_chunk import Chunk
    from connector.errors import ConnectorError
    from connector.snapshot.table_state import KeyRange
    from connector.snapshot.watermark import Delivered, LogPosition
    from connector.source.tables.selected_table import SelectedTable


@dataclass(frozen=True, slots=True)
class PlanJob:
    """Look at a table, and part it where several connections can share it."""

    copy: int  # number of the copy that asks
    database: str
    table: str
    where: str = ""  # of the user, as it was asked for


@dataclass(frozen=True, slots=True)
class Planned:
    """The answer to `PlanJob`."""

    job: PlanJob
    table: SelectedTable
    transactional: bool  # its engine knows consistent snapshots
    ranges: list[KeyRange]  # empty where the table has no order to go by
    condition: str  # SQL that `where` became
    estimated_rows: int  # of the whole table; 0 where the server does not tell
    row_bytes: int  # on average, as the server stores it
    end: LogPosition  # of the log, when the table was looked at


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """Read the next rows of a part of a table."""

    copy: int
    table: SelectedTable
    transactional: bool
    part: int  # index of its range
    range: KeyRange
    after: list[bytes]  # the key to go on behind; empty at the beginning of the part
    where: str  # SQL of a `Condition`
    limit: int
    bytes_max: int
    delivered: Delivered  # when the window opened
    window: int
    changes: int  # of the watched table, when the window opened


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """The answer to `ChunkJob`."""

    job: ChunkJob
    chunk: Chunk
    limit: int  # that was kept to
    is_last: bool  # of its part
    end: LogPosition  # where the stream has to be before the rows may be written
    read_us: int  # when they were read, microseconds since the epoch


@dataclass(frozen=True, slots=True)
class PassJob:
    """Read all rows of a table at once, as they were at one place of the log."""

    copy: int
    table: SelectedTable
    transactional: bool
    where: str  # SQL of a `Condition`
    bytes_max: int


@dataclass(frozen=True, slots=True)
class PassReady:
    """The reader is to go on once the stream stands still."""

    job: PassJob


@dataclass(frozen=True, slots=True)
class PassOpened:
    """The rows that follow are those of this place."""

    job: PassJob
    position: LogPosition
    read_us: int


@dataclass(frozen=True, slots=True)
class PassChunk:
    """The next rows of a pass; the reader waits until they are written."""

    job: PassJob
    chunk: Chunk
    is_last: bool


@dataclass(frozen=True, slots=True)
class TableChanged:
    """The table is not the one that was planned; the log says more, up to `end`."""

    job: ChunkJob | PassJob | PlanJob
    end: LogPosition
    is_gone: bool
    error: ConnectorError


@dataclass(frozen=True, slots=True)
class PassBusy:
    """The rows cannot be read for now."""

    job: PassJob
    error: ConnectorError


@dataclass(frozen=True, slots=True)
class Failed:
    """An error that trying again does not mend."""

    job: ChunkJob | PassJob | PlanJob
    error: Exception


Job = PlanJob | ChunkJob | PassJob
PassResult = PassReady | PassOpened | PassChunk
Result = Planned | ChunkRead | PassResult | PassBusy | TableChanged | Failed
