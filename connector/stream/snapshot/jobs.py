"""The jobs of readers, and their answers."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from connector.foundation.errors import ConnectorError
from connector.stream.envelope.copied_chunk import Chunk
from connector.stream.envelope.schemas.table_schema import TableSchema
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
class PlanGroup:
    """Look at several tables, whose definitions are read together."""

    jobs: tuple[PlanJob, ...]

    @property
    def copy(self) -> int:
        """The copy of the first table."""
        return self.jobs[0].copy


@dataclass(frozen=True, slots=True)
class GroupPlanned:
    """The answer to `PlanGroup`; tables without a plan are to be planned alone."""

    job: PlanGroup
    plans: list[TablePlan]


@dataclass(frozen=True, slots=True)
class ChunkGroup:
    """Read the next rows of several small tables after one watermark.

    Their windows were opened at the same position, so `delivered` is that of each.
    """

    jobs: tuple[ChunkJob, ...]
    bytes_max: int  # of all of them

    @property
    def copy(self) -> int:
        """The copy of the first table."""
        return self.jobs[0].copy


@dataclass(frozen=True, slots=True)
class GroupRead:
    """The answer to `ChunkGroup`; tables without a chunk are to be read alone."""

    job: ChunkGroup
    chunks: list[ChunkRead]
    # Where the rows go, once it is known; it is asked again and again whether they are there.
    topics: list[str] = field(default_factory=list)

    @property
    def end(self) -> LogPosition:
        """The position that the stream must reach before any of the rows may be written."""
        return max(chunk.end for chunk in self.chunks)

    @property
    def schemas(self) -> list[TableSchema]:
        """The column lists of the tables that have rows."""
        return [one.chunk.schema for one in self.chunks if one.chunk.count]


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

    job: "Job"
    error: Exception


Group = PlanGroup | ChunkGroup
Job = PlanJob | ChunkJob | KeysJob | PassJob | Group
PassResult = PassReady | PassSnapshot | PassChunk
GroupResult = GroupPlanned | GroupRead
RowsRead = ChunkRead | KeysRead | GroupRead
Answer = TablePlan | PassResult | GroupResult | RowsRead
Result = Answer | TableBusy | TableChange | JobFailure


def left_out(result: Result) -> set[int]:
    """Return the copies of a group that have no answer; if it failed, all of them."""
    if not isinstance(result.job, (PlanGroup, ChunkGroup)):
        return set()
    copies = {job.copy for job in result.job.jobs}
    if isinstance(result, GroupPlanned):
        copies -= {planned.job.copy for planned in result.plans}
    elif isinstance(result, GroupRead):
        copies -= {chunk.job.copy for chunk in result.chunks}
    return copies


def without_copies(results: Iterable[RowsRead], numbers: Container[int]) -> list[RowsRead]:
    """Return results without those of the copies with these numbers."""
    kept: list[RowsRead] = []
    for result in results:
        if isinstance(result, GroupRead):
            chunks = [chunk for chunk in result.chunks if chunk.job.copy not in numbers]
            if chunks:
                kept.append(GroupRead(result.job, chunks, result.topics))
        elif result.job.copy not in numbers:
            kept.append(result)
    return kept
