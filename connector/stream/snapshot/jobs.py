"""The jobs of readers, and their answers."""

from dataclasses import dataclass

from connector.foundation.errors import ConnectorError
from connector.stream.envelope.copied_chunk import Chunk
from connector.stream.snapshot.keyset import ListedKey
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.snapshot.watermark import DeliveredPosition, LogPosition
from connector.stream.source.selected_table import SelectedTable


@dataclass(frozen=True, slots=True)
class PlanJob:
    """Look at a table, and split it if several connections can share it."""

    copy: int  # number of the copy
    database: str
    table: str
    where: str = ""  # the text of a condition
    where_is_own: bool = False  # not a user's, so it may read columns that records do not show
    surrogate_key: str = ""  # the column to read by, if it is not the key
    at_once: bool = False  # whether the rows are to be read by one SELECT
    with_maximum: bool = False  # whether `Planned.maximum` is wanted


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The answer to `PlanJob`."""

    job: PlanJob
    table: SelectedTable
    transactional: bool  # its engine has consistent snapshots
    ranges: list[KeyRange]  # empty if the rows have no order to read them in
    condition: str  # `where` as SQL
    estimated_rows: int  # of the whole table; 0 if the server does not say
    row_bytes: int  # on average, as the server stores it
    end: LogPosition  # end of the log when the table was looked at
    maximum: list[bytes]  # cells of the greatest key; empty if it is not wanted or not known


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """Read the next rows of a part of a table."""

    copy: int
    table: SelectedTable
    transactional: bool
    part: int  # index of its range
    range: KeyRange
    after: list[bytes]  # the key to continue after; empty at the beginning of the part
    where: str  # SQL of a `Condition`
    limit: int
    bytes_max: int
    delivered: DeliveredPosition  # when the window opened
    window: int
    changes: int  # of the watched table, when the window opened


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """The answer to `ChunkJob`."""

    job: ChunkJob
    chunk: Chunk
    limit: int  # the limit that was used
    is_last: bool  # of its part
    end: LogPosition  # the position that the stream must reach before the rows may be written
    read_us: int  # time of the SELECT, microseconds since 1970
    seconds: float  # how long the reader took


@dataclass(frozen=True, slots=True)
class KeysJob:
    """Look which rows with listed keys the table has."""

    copy: int
    table: SelectedTable
    transactional: bool
    keys: list[ListedKey]
    bytes_max: int
    delivered: DeliveredPosition  # when the window opened
    window: int
    changes: int  # of the watched table, when the window opened


@dataclass(frozen=True, slots=True)
class KeysRead:
    """The answer to `KeysJob`."""

    job: KeysJob
    record_keys: set[bytes]  # the keys of records of the rows that there are
    end: LogPosition  # the position that the stream must reach before the others are taken back
    read_us: int  # time of the SELECT, microseconds since 1970


@dataclass(frozen=True, slots=True)
class PassPart:
    """A table of a `PassJob`."""

    copy: int
    table: SelectedTable
    transactional: bool
    where: str  # SQL of a `Condition`


@dataclass(frozen=True, slots=True)
class PassJob:
    """Read all rows of tables at once, as they are at one position of the log."""

    parts: tuple[PassPart, ...]
    bytes_max: int

    @property
    def copy(self) -> int:
        """The copy of the first table, which stands for all of them."""
        return self.parts[0].copy

    @property
    def names(self) -> str:
        return ", ".join(part.table.name for part in self.parts)


@dataclass(frozen=True, slots=True)
class PassReady:
    """The reader waits until the stream stands still."""

    job: PassJob


@dataclass(frozen=True, slots=True)
class PassSnapshot:
    """The rows that follow are those at this position."""

    job: PassJob
    position: LogPosition
    read_us: int


@dataclass(frozen=True, slots=True)
class PassChunk:
    """The next rows of a pass; the reader waits until they are written."""

    job: PassJob
    part: PassPart
    chunk: Chunk
    is_last: bool  # of the part


@dataclass(frozen=True, slots=True)
class TableChange:
    """The table is not the planned one; the log up to `end` says more."""

    job: ChunkJob | KeysJob | PassPart | PlanJob
    end: LogPosition
    is_gone: bool  # the account sees no table of this name
    error: ConnectorError
    is_absent: bool = False  # and there is none


@dataclass(frozen=True, slots=True)
class TableBusy:
    """The table cannot be read now, and others can; a later attempt may succeed."""

    job: ChunkJob | KeysJob | PassJob | PlanJob
    error: ConnectorError


@dataclass(frozen=True, slots=True)
class JobFailure:
    """An error that a new attempt does not fix."""

    job: ChunkJob | KeysJob | PassJob | PlanJob
    error: Exception


Job = PlanJob | ChunkJob | KeysJob | PassJob
PassResult = PassReady | PassSnapshot | PassChunk
Result = TablePlan | ChunkRead | KeysRead | PassResult | TableBusy | TableChange | JobFailure
