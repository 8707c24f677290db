"""The copy of one table, chunk by chunk, and events.

A `TableCopy` knows which rows to read next, and which were written.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from connector.foundation import errors
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.read_pace import chunk_rows
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.metrics.pipeline_metrics import SnapshotMetrics
from connector.stream.snapshot import jobs
from connector.stream.snapshot.copy_output import CopyOutput
from connector.stream.snapshot.keyset import ListedKey
from connector.stream.snapshot.table_state import NO_REQUEST, TableState
from connector.stream.snapshot.watermark import LogPosition

# A record is so many times larger than the row in the table, until a chunk shows the real size.
_RECORD_FACTOR = 3
_RECORD_BYTES = 64
# A chunk should use only a part of its bytes, because rows differ in size.
_FILLED_PART = 0.75
_GROWTH = 2
# A table whose rows take a larger part of the bytes of a chunk is read alone.
_GROUP_PARTS_MIN = 4
# The pause before a table that cannot be read is tried again: as long as it has waited, but not
# shorter or longer than this.
_PAUSE_SECONDS = 3.0
_PAUSE_SECONDS_MAX = 60.0
# The errors of writing that concern the table alone.
COPY_ERRORS: Final = (errors.UnsupportedChange, errors.RecordTooLarge, errors.TopicRefused)

_numbers = count(1)


class TableCopy:
    """The state of a table, and its chunks that are read but not yet in the state.

    `number` distinguishes the answers to current jobs from those to dropped ones.
    """

    def __init__(
        self, state: TableState, watched: TableWindows, settings: SnapshotSettings
    ) -> None:
        self.state = state
        self.watched = watched
        self.number = next(_numbers)
        self.planned: jobs.TablePlan | None = None
        self.takes_back = state.takes_back
        self.is_asked = False  # a plan was asked for
        self.is_alone = bool(state.together)  # no group has it
        # The bytes of all rows as records, as the plan says, if a group may read them.
        self.group_bytes: int | None = None
        self.gone_at: LogPosition | None = None  # end of the log when the table did not exist
        self.gone_error: errors.ConnectorError | None = None
        self.is_absent = False  # and the account would have seen it
        self.asked_at = 0  # changes of the watched table when the plan was asked for
        self.changed = 0  # how often the table was different since rows were written
        self.listed: list[ListedKey] = []  # the keys of the state
        self.cost_seconds = 0.0  # spent on reading and writing rows, without any waiting
        self.not_before = 0.0  # the table is read again from then on
        # Why the table cannot be read now, and since when.
        self._busy: tuple[errors.ConnectorError, float] | None = None
        self._settings = settings
        self._limit = 1
        # For each part: the key to continue after, and whether the part is read to its end.
        self._after: list[list[bytes]] = []
        self._is_read: list[bool] = []
        self._asked: set[int] = set()
        self._keys_are_asked = False
        self._windows: set[int] = set()
        self._first_written: tuple[float, int] | None = None  # seconds, rows before

    def plan(self, planned: jobs.TablePlan) -> None:
        """Copy by the plan; the ranges of the state have the same key."""
        settings = self._settings
        self.planned = planned
        self.is_asked = False
        self.watched.schema_id = planned.table.schema.schema_id
        fitting = settings.chunk_bytes_max // _record_bytes(planned)
        self._limit = max(1, min(settings.chunk_rows, fitting))
        self._after = [part.last_key for part in self.state.ranges]
        self._is_read = [part.done for part in self.state.ranges]
        self.group_bytes = self._group_bytes(planned)

    def _group_bytes(self, planned: jobs.TablePlan) -> int | None:
        is_whole = len(self._after) == 1 and not self._after[0]
        if self.state.load or self.is_alone or self.listed or not is_whole:
            return None
        if planned.estimated_rows > self._limit:
            return None
        size = planned.estimated_rows * _record_bytes(planned)
        return size if size <= self._settings.chunk_bytes_max // _GROUP_PARTS_MIN else None

    def plan_job(self) -> jobs.PlanJob:
        """Return what is to be planned, and note that it is asked for."""
        state = self.state
        self.is_asked = True
        self.asked_at = self.watched.changes
        return jobs.PlanJob(
            self.number,
            state.database,
            state.table,
            state.where,
            where_is_own=state.request == NO_REQUEST,
            with_maximum=bool(state.snapshot),
            surrogate_key=state.surrogate_key,
            at_once=bool(state.together),
        )

    @property
    def is_over(self) -> bool:
        """Whether all rows are written, and those that are gone are taken back."""
        return not self.state.keys and all(part.done for part in self.state.ranges)

    @property
    def is_large(self) -> bool:
        """Whether the table is read alone, as its plan says; the mirror's is not read here."""
        return self.planned is not None and self.group_bytes is None and not self.state.load

    @property
    def waits_for_group(self) -> bool:
        """Whether a group may read its rows now."""
        return self.group_bytes is not None and not self._asked and not self._is_read[0]

    def next_job(self, output: CopyOutput) -> jobs.ChunkJob | jobs.KeysJob | None:
        """Return what to read next and open its window; None if there is nothing now."""
        planned = self.planned
        if planned is None:
            return None
        if self.listed:
            return self._keys_job(planned, output)
        for part, key_range in enumerate(self.state.ranges):
            if part in self._asked or self._is_read[part]:
                continue
            self._asked.add(part)
            return jobs.ChunkJob(
                self.number,
                planned.table,
                planned.transactional,
                part,
                key_range,
                self._after[part],
                planned.condition,
                self._limit,
                self._settings.chunk_bytes_max,
                output.delivered,
                self._open_window(),
                self.watched.changes,
            )
        return None

    def _keys_job(self, planned: jobs.TablePlan, output: CopyOutput) -> jobs.KeysJob | None:
        """Return the job that looks for listed keys: it comes before the first chunk."""
        if self._keys_are_asked:
            return None
        self._keys_are_asked = True
        return jobs.KeysJob(
            self.number,
            planned.table,
            planned.transactional,
            self.listed,
            self._settings.chunk_bytes_max,
            output.delivered,
            self._open_window(),
            self.watched.changes,
        )

    def _open_window(self) -> int:
        window = self.watched.open_window()
        self._windows.add(window)
        return window

    def _close_window(self, window: int) -> None:
        self.watched.close_window(window)
        self._windows.discard(window)

    def put_off(self, error: errors.ConnectorError, seconds: float) -> float:
        """Read the table later, because of `error`; return after how many seconds."""
        since = seconds if self._busy is None else self._busy[1]
        self._busy = error, since
        pause = min(max(_PAUSE_SECONDS, seconds - since), _PAUSE_SECONDS_MAX)
        self.not_before = seconds + pause
        return pause

    def go_on(self) -> None:
        self._busy = None

    def pass_part(self) -> jobs.PassPart:
        """Return what a pass reads of the table."""
        planned = self.planned
        assert planned is not None
        return jobs.PassPart(self.number, planned.table, planned.transactional, planned.condition)

    def note_read(self, result: jobs.ChunkRead) -> None:
        """Record that a chunk was read: the next one follows it."""
        part, chunk = result.job.part, result.chunk
        self._asked.discard(part)
        self._is_read[part] = result.is_last
        if chunk.count >= result.limit or chunk.size >= result.job.bytes_max:
            # It has more rows than one chunk.
            self.group_bytes = None
        limit = result.limit
        if chunk.count:
            self._after[part] = chunk.last_key
            row_bytes = max(1, chunk.size // chunk.count)
            fitting = int(self._settings.chunk_bytes_max * _FILLED_PART) // row_bytes
            limit = min(limit * _GROWTH, fitting)
            limit = chunk_rows(limit, chunk.count, result.seconds)
        self._limit = max(1, min(limit, self._settings.chunk_rows))

    def note_written(
        self, result: jobs.ChunkRead, rows: int, quarantined: int, seconds: float
    ) -> None:
        """Record that a chunk was written, with `rows` of its rows; the others were kept back."""
        job, chunk = result.job, result.chunk
        self._close_window(job.window)
        part = self.state.ranges[job.part]
        if chunk.count:
            part.last = [cell.hex() for cell in chunk.last_key]
        part.done = result.is_last
        self.changed = 0
        self.count_rows(rows, quarantined, seconds)

    def note_deleted(self, result: jobs.KeysRead) -> None:
        """Record that the rows with listed keys are taken back that the table does not have."""
        self._close_window(result.job.window)
        self.changed = 0
        self.state.keys = []
        self.listed = []

    def key_texts(self, result: jobs.ChunkRead) -> dict[str, str]:
        """Return the greatest key of the table and the last one of a chunk, as text."""
        columns = result.job.table.order_columns
        assert self.planned is not None
        keys = {"maximum_key": self.planned.maximum, "last_processed_key": result.chunk.last_key}
        return {
            name: ",".join(column.text(cell) for column, cell in zip(columns, key, strict=True))
            for name, key in keys.items()
            if key
        }

    def count_rows(self, rows: int, quarantined: int, seconds: float) -> None:
        """Count rows that were written at a time, and those that went into quarantine."""
        if self._first_written is None:
            self._first_written = (seconds, self.state.rows)
        self.state.rows += rows
        self.state.kept_back += quarantined

    def drop(self) -> None:
        """Drop the unwritten chunks; they are read again, after the last row that was written."""
        self.number = next(_numbers)
        for window in self._windows:
            self.watched.close_window(window)
        self._windows.clear()
        self._asked.clear()
        self._keys_are_asked = False
        self._after = [part.last_key for part in self.state.ranges]
        self._is_read = [part.done for part in self.state.ranges]
        self.is_asked = False
        self.planned = None

    def metrics(self, seconds: float) -> SnapshotMetrics:
        state = self.state
        per_second = 0.0
        if self._first_written is not None:
            since, before = self._first_written
            per_second = (state.rows - before) / max(seconds - since, 1e-3)
        # A copy with more rows than the estimate has no known rest.
        left = state.estimated_rows - state.rows
        eta = left / per_second if per_second and left > 0 else None
        estimated_rows = max(state.estimated_rows, state.rows)
        metrics = SnapshotMetrics(state.rows, estimated_rows, per_second, eta)
        busy = self._busy
        if busy is None:
            return metrics
        return replace(metrics, waits_for=busy[0], waiting_seconds=seconds - busy[1])


def _record_bytes(planned: jobs.TablePlan) -> int:
    """Return how many bytes a record may have, before a chunk has shown it."""
    return planned.row_bytes * _RECORD_FACTOR + _RECORD_BYTES


# What happens to copies in a turn of their scheduler. Each is handled before the turn goes on: what
# follows may depend on the records that it causes.


@dataclass(frozen=True, slots=True)
class CopyStart:
    """The first rows of a copy are to be read."""

    copy: TableCopy


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """A chunk with rows was written."""

    copy: TableCopy
    chunk: jobs.ChunkRead


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


def left_to_mirror(
    copies: list[TableCopy], output: CopyOutput, drop: Callable[[TableCopy], None]
) -> Iterator[CopyEvent]:
    """End copies whose rows the Spark job reads itself: it needs the columns alone.

    Nothing happens while their topics are created. A table that has changed since it was looked at
    is dropped, and looked at again.
    """
    plans = [(copy, copy.planned) for copy in copies if copy.planned is not None]
    if not output.has_topics(output.topics_of(planned.table.schema for _, planned in plans)):
        return
    for copy, planned in plans:
        if copy.watched.changes != copy.asked_at:
            drop(copy)
            continue
        try:
            output.announce(planned.table.schema)
        except COPY_ERRORS as error:
            yield CopyFailure(copy, error)
            continue
        yield CopyEnd(copy)
        output.put_state(copy.state)


def look_again(copy: TableCopy) -> Iterator[CopyEvent]:
    """Go on after the log up to the moment at which the server showed no such table."""
    if copy.watched.changes != copy.asked_at:
        # It was dropped and created again since.
        copy.gone_at = None
    elif copy.is_absent and copy.state.request == NO_REQUEST:
        yield TableAbsence(copy)
    else:
        # No statement has dropped it: it exists, but the account does not see it, or somebody
        # asked for what is no table.
        assert copy.gone_error is not None
        yield CopyFailure(copy, copy.gone_error)
