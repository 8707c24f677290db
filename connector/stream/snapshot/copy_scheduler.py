"""The schedule of copies: which rows to read next, and which of the read rows to write.

In its turns, between two source transactions, it opens windows, gives chunks to readers, and writes
those that the stream has caught up with. If both have work to do, it shares the time with the
stream.
"""

from collections.abc import Callable, Iterator
from queue import Empty

import structlog

from connector.foundation import errors
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.read_pace import PaceState
from connector.stream.envelope.key_windows import KEYS_MAX
from connector.stream.metrics.control import Control
from connector.stream.snapshot import copy_errors, jobs, table_copy
from connector.stream.snapshot.copy_output import CopyOutput
from connector.stream.snapshot.keyset import listed_keys
from connector.stream.snapshot.reader_pool import ReaderPool
from connector.stream.snapshot.running_copies import GROUP_TABLES, RunningCopies, group_of
from connector.stream.snapshot.table_copy import CopyEvent, TableCopy
from connector.stream.snapshot.table_pass import TablePass
from connector.stream.snapshot.watermark import LogPosition

# How many times in a row a table may differ from what the log says.
_CHANGES_MAX = 5
# While topics are created, a busy stream goes on for so long.
_TOPICS_SECONDS = 0.05


class CopyScheduler:
    """The running copies: the first of `copies` are worked on."""

    def __init__(
        self,
        output: CopyOutput,
        open_readers: Callable[[], ReaderPool],
        settings: SnapshotSettings,
        control: Control,
    ) -> None:
        """Write to `output` what the readers read; they are opened for the first job.

        While `control` says that copies are paused, readers get no more jobs.
        """
        self.copies = RunningCopies()
        self._control = control
        self._log = structlog.get_logger()
        self._output = output
        self._open_readers = open_readers
        self._settings = settings
        self._readers: ReaderPool | None = None
        self._read: list[jobs.RowsRead] = []
        self._unread = 0
        # Whether a group of tables is being planned.
        self._plans_group = False
        self._pass: TablePass | None = None
        self._not_before = 0.0  # the stream has its turn until then
        self._seen: LogPosition | None = None

    @property
    def wants_turn(self) -> bool:
        if self._pass is not None and self._pass.is_approaching:
            return True
        if not self._read or self._output.seconds < self._not_before:
            return False
        position = self._output.position
        return position is not None and any(result.end <= position for result in self._read)

    @property
    def holds_stream(self) -> bool:
        """Whether the stream must stop at its current position."""
        return self._pass is not None and self._pass.holds_stream

    def pace(self) -> PaceState | None:
        """Return how much readers may read at a time; None while there are none."""
        readers = self._readers
        return None if readers is None else readers.pace.state

    def step(self) -> Iterator[CopyEvent]:
        """Write the chunks that may be written, and ask for more; yield what happens to copies.

        The caller handles an event before it takes the next one: a copy that ends or fails is no
        longer among `copies` then.
        """
        if not self.copies:
            self.stop_reading()
            return
        yield from self._take_results()
        yield from self._write()
        yield from self._step_pass()
        yield from self._ask()

    def drop(self, copy: TableCopy) -> None:
        """Drop the chunks of a copy that are being read or not yet written.

        Tables that are read at once with it are read again with it, too.
        """
        dropped = [copy]
        if self._pass is not None and copy in self._pass.copies:
            dropped = self._pass.copies
            self._pass.give_up()
            self._pass = None
        numbers = {other.number for other in dropped}
        self._read = jobs.without_copies(self._read, numbers)
        for other in dropped:
            if self._readers is not None:
                self._readers.cancel(other.number)
            self.copies.restart(other)

    def stop_reading(self) -> None:
        """Give up what was read, and end the connections."""
        readers, self._readers = self._readers, None
        if readers is not None:
            readers.close()
        self._read.clear()
        self._unread = 0
        self._plans_group = False
        self._pass = None

    def _take_results(self) -> Iterator[CopyEvent]:
        readers = self._readers
        if readers is None:
            return
        while True:
            try:
                result = readers.results.get_nowait()
            except Empty:
                return
            if isinstance(result.job, (jobs.ChunkJob, jobs.KeysJob, jobs.ChunkGroup)):
                self._unread -= 1
            if isinstance(result.job, (jobs.PlanGroup, jobs.ChunkGroup)):
                yield from self._take_group(result)
                continue
            copy = self.copies.numbered(result.job.copy)
            if copy is not None:
                if isinstance(result, (jobs.ChunkRead, jobs.KeysRead, jobs.PassSnapshot)):
                    for other in self.copies.together(copy):
                        other.go_on()
                yield from self._take(copy, result)
            elif isinstance(result, (jobs.PassReady, jobs.PassChunk)):
                readers.go_on()

    def _take_group(self, result: jobs.Result) -> Iterator[CopyEvent]:
        """Take what a group answers; the tables that it leaves out are planned and read alone."""
        if isinstance(result.job, jobs.PlanGroup):
            self._plans_group = False
        if isinstance(result, jobs.GroupPlanned):
            for planned in result.plans:
                copy = self.copies.numbered(planned.job.copy)
                if copy is not None:
                    yield from self._take_plan(copy, planned)
        elif isinstance(result, jobs.GroupRead):
            for chunk in result.chunks:
                self._note_read(chunk)
            if result.chunks:
                result.topics.extend(self._output.topics_of(result.schemas))
                self._read.append(result)
        for copy in [self.copies.numbered(number) for number in jobs.left_out(result)]:
            if copy is not None:
                self.drop(copy)
                copy.is_alone = True

    def _note_read(self, chunk: jobs.ChunkRead) -> None:
        copy = self.copies.numbered(chunk.job.copy)
        if copy is not None:
            copy.note_read(chunk)
            copy.go_on()

    def _take(self, copy: TableCopy, result: jobs.Result) -> Iterator[CopyEvent]:
        if isinstance(result, jobs.ChunkRead):
            copy.note_read(result)
            self._read.append(result)
        elif isinstance(result, jobs.KeysRead):
            self._read.append(result)
        elif isinstance(result, jobs.TablePlan):
            yield from self._take_plan(copy, result)
        elif isinstance(result, jobs.TableChange):
            yield from self._take_change(copy, result)
        elif isinstance(result, jobs.JobFailure):
            is_pass = isinstance(result.job, jobs.PassJob)
            for failed in self.copies.together(copy) if is_pass else [copy]:
                yield table_copy.CopyFailure(failed, result.error)
        elif isinstance(result, jobs.TableBusy):
            self._put_off(copy, result.error)
        elif isinstance(result, jobs.PassResult) and self._pass and copy in self._pass.copies:
            self._pass.take(result)

    def _put_off(self, copy: TableCopy, error: errors.ConnectorError) -> None:
        together = [copy]
        if self._pass is not None and copy in self._pass.copies:
            together = self._pass.copies
        self.drop(copy)
        for other in together:
            self._log.warning(
                "a table cannot be read now; trying again",
                table=other.state.name,
                **errors.fields(error),
                retry_in_seconds=round(other.put_off(error, self._output.seconds)),
            )

    def _take_plan(self, copy: TableCopy, planned: jobs.TablePlan) -> Iterator[CopyEvent]:
        state = copy.state
        if state.where and not planned.table.key_columns:
            yield table_copy.CopyFailure(
                copy, errors.SourceRefused(copy_errors.NO_KEY, table=state.name)
            )
            return
        try:
            if state.keys:
                copy.listed = listed_keys(planned.table, state.keys, self._output.debezium)
        except errors.SourceRefused as error:
            yield table_copy.CopyFailure(copy, error)
            return
        if copy.takes_back or not planned.ranges:
            state.load = ""
        if copy.takes_back:
            copy.takes_back = False
            try:
                self._output.replace_rows(state.database, state.table)
            except errors.UnsupportedChange as error:
                yield table_copy.CopyFailure(copy, error)
                return
        key = [column.declared for column in planned.table.order_columns] if planned.ranges else []
        if state.phase != "copying" or not key or state.key != key:
            if state.rows and not state.where:
                # The written rows have other keys, or were read in another order of them.
                self._output.put_rows_gone(state.database, state.table)
            yield table_copy.CopyStart(copy)
            state.phase = "copying"
            state.key = key
            state.ranges = planned.ranges
            state.rows = state.kept_back = 0
            state.started_at_ms = self._output.now_ms
        # The number of rows that a condition selects is not known before they are read.
        state.estimated_rows = 0 if state.where else planned.estimated_rows
        copy.plan(planned)
        self._output.put_state(state)

    def _take_change(self, copy: TableCopy, changed: jobs.TableChange) -> Iterator[CopyEvent]:
        self.drop(copy)
        copy.changed += 1
        if changed.is_gone:
            copy.gone_at, copy.gone_error = changed.end, changed.error
            copy.is_absent = changed.is_absent
        elif copy.changed > _CHANGES_MAX:
            changes = errors.SourceRefused(
                copy_errors.CHANGES, table=copy.state.name, why=changed.error
            )
            yield table_copy.CopyFailure(copy, changes)

    def _write(self) -> Iterator[CopyEvent]:
        """Write the chunks that the stream has caught up with, in its share of the time."""
        output = self._output
        position = output.position
        started = output.seconds
        moved, self._seen = position != self._seen, position
        if position is None or (moved and started < self._not_before):
            return
        ready: list[jobs.RowsRead] = []
        waiting: list[jobs.RowsRead] = []
        for result in self._read:
            may_write = result.end <= position and self._has_topics(result)
            (ready if may_write else waiting).append(result)
        self._read = waiting
        for result in ready:
            for chunk in result.chunks if isinstance(result, jobs.GroupRead) else [result]:
                yield from self._write_chunk(chunk)
        ended = output.seconds
        self._not_before = max(self._not_before, ended + (ended - started))

    def _has_topics(self, result: jobs.RowsRead) -> bool:
        """Return whether the rows of a group may be written; the stream goes on meanwhile."""
        if not isinstance(result, jobs.GroupRead) or self._output.has_topics(result.topics):
            return True
        self._not_before = self._output.seconds + _TOPICS_SECONDS
        return False

    def _write_chunk(self, result: jobs.ChunkRead | jobs.KeysRead) -> Iterator[CopyEvent]:
        """Write a chunk that the stream has caught up with, unless its table has changed."""
        copy = self.copies.numbered(result.job.copy)
        if copy is None:
            # Dropped in this turn, with a chunk before it.
            return
        if copy.watched.changes != result.job.changes:
            self.drop(copy)
            return
        try:
            self._put(copy, result)
        except table_copy.COPY_ERRORS as error:
            yield table_copy.CopyFailure(copy, error)
            return
        if isinstance(result, jobs.ChunkRead) and result.chunk.count:
            yield table_copy.CopyProgress(copy, result)
            if copy not in self.copies:
                # Its notification could not be written.
                return
        if copy.is_over:
            yield table_copy.CopyEnd(copy)
        self._output.put_state(copy.state)

    def _put(self, copy: TableCopy, result: jobs.ChunkRead | jobs.KeysRead) -> None:
        """Write the rows of a chunk, or take back those that are gone.

        What the stream has written since the window opened is left out. Raises as
        `CopyOutput.put_chunk` does.
        """
        output = self._output
        touched = copy.watched.touched_since(result.job.window)
        if isinstance(result, jobs.ChunkRead):
            started = output.seconds
            rows, quarantined = output.put_chunk(result.chunk, touched, result.read_us)
            copy.note_written(result, rows, quarantined, output.seconds)
            copy.cost_seconds += result.seconds + output.seconds - started
            return
        keys = dict.fromkeys(key.record_key for key in result.job.keys)
        gone = [key for key in keys if key not in result.record_keys and key not in touched]
        rows = output.delete_rows(result.job.table.schema, gone, result.read_us)
        copy.note_deleted(result)
        self._log.info("rows were taken back", table=copy.state.name, rows=rows, keys=len(keys))

    def _step_pass(self) -> Iterator[CopyEvent]:
        table_pass = self._pass
        if table_pass is None:
            return
        try:
            outcome = table_pass.step()
        except table_copy.COPY_ERRORS as error:
            for copy in table_pass.copies:
                yield table_copy.CopyFailure(copy, error)
            return
        if outcome == "in vain":
            self.drop(table_pass.copies[0])
        elif outcome == "complete":
            self._pass = None
            for copy in table_pass.copies:
                copy.cost_seconds += self._output.seconds - table_pass.opened_at
                yield table_copy.CopyEnd(copy)
                self._output.put_state(copy.state)

    def _ask(self) -> Iterator[CopyEvent]:
        if self._control.copies_paused or not self.copies:
            return
        if self._readers is None:
            self._readers = self._open_readers()
        readers, position, now = self._readers, self._output.position, self._output.seconds
        busy = self._settings.connections + 1
        unplanned: list[TableCopy] = []
        small: list[TableCopy] = []
        loaded: list[TableCopy] = []
        for copy in self.copies.first(now, large_max=busy, count_max=busy * GROUP_TABLES):
            if copy.gone_at is not None:
                if position is not None and position >= copy.gone_at:
                    yield from table_copy.look_again(copy)
            elif copy.planned is None:
                unplanned.append(copy)
            elif position is not None and position >= copy.planned.end:
                # Before that position, a window would collect the keys of everything that the
                # stream has to catch up with.
                if copy.state.load:
                    loaded.append(copy)
                elif copy.waits_for_group:
                    small.append(copy)
                else:
                    self._ask_for_rows(copy, readers)
        yield from table_copy.left_to_mirror(loaded, self._output, self.drop)
        self._ask_for_plans([copy for copy in unplanned if not copy.is_asked], readers)
        self._ask_for_groups(small, readers)

    def _ask_for_plans(self, copies: list[TableCopy], readers: ReaderPool) -> None:
        """Have tables planned: those that a group may have together, the others alone."""
        grouped = [copy for copy in copies if not copy.is_alone]
        if len(grouped) > 1 and not self._plans_group:
            group = grouped[:GROUP_TABLES]
            readers.submit(jobs.PlanGroup(tuple(copy.plan_job() for copy in group)))
            self._plans_group = True
        elif len(grouped) == 1:
            readers.submit(grouped[0].plan_job())
        for copy in copies:
            if copy.is_alone:
                readers.submit(copy.plan_job())

    def _ask_for_groups(self, copies: list[TableCopy], readers: ReaderPool) -> None:
        """Have the rows of small tables read, whose windows open now."""
        left = copies
        while left and self._unread + len(self._read) <= self._settings.connections:
            bytes_max = self._settings.chunk_bytes_max
            group = group_of(left, bytes_max)
            asked = [copy.next_job(self._output) for copy in group]
            chunks = tuple(job for job in asked if isinstance(job, jobs.ChunkJob))
            readers.submit(jobs.ChunkGroup(chunks, bytes_max) if len(chunks) > 1 else chunks[0])
            self._unread += 1
            left = left[len(group) :]

    def _ask_for_rows(self, copy: TableCopy, readers: ReaderPool) -> None:
        if copy.watched.key_count > KEYS_MAX:
            self.drop(copy)
        elif not copy.state.ranges:
            position, copies = self._output.position, self.copies.together(copy)
            are_planned = position is not None and all(
                other.planned is not None and position >= other.planned.end for other in copies
            )
            if are_planned and self._pass is None:
                bytes_max = self._settings.chunk_bytes_max
                self._pass = TablePass(copies, self._output, readers, bytes_max)
        else:
            while self._unread + len(self._read) <= self._settings.connections:
                job = copy.next_job(self._output)
                if job is None:
                    break
                readers.submit(job)
                self._unread += 1
