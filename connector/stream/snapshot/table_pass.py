"""The pass over tables that are read at once.

Tables without an order of rows, and tables of a BLOCKING snapshot, are read like that: the stream
waits at the position of their rows.
"""

from collections.abc import Sequence
from typing import Literal

from connector.stream.envelope.copied_chunk import COPIED
from connector.stream.snapshot import jobs
from connector.stream.snapshot.copy_output import CopyOutput
from connector.stream.snapshot.reader_pool import ReaderPool
from connector.stream.snapshot.table_copy import TableCopy
from connector.stream.snapshot.watermark import LogPosition


class TablePass:
    """One attempt; if it breaks, the next one begins with the first row.

    The stream stands still while the reader opens its snapshot. The snapshot's position is then at
    the stream's position or after it.
    """

    def __init__(
        self, copies: Sequence[TableCopy], output: CopyOutput, readers: ReaderPool, bytes_max: int
    ) -> None:
        self.copies = list(copies)
        self._output = output
        self._readers = readers
        self._changes = [copy.watched.changes for copy in copies]
        self._stage: Literal["asked", "opening", "approaching", "writing"] = "asked"
        # When the stream first stood still.
        self.opened_at = output.seconds
        self._position: LogPosition | None = None
        self._read_us = 0
        self._chunks: list[jobs.PassChunk] = []
        self._copies = {copy.number: copy for copy in copies}
        self._unread = len(copies)
        # The last chunk with rows, which is written when it is known whether others follow, and the
        # table of the chunk before it.
        self._held: jobs.PassChunk | None = None
        self._written: jobs.PassPart | None = None
        readers.submit(jobs.PassJob(tuple(copy.pass_part() for copy in copies), bytes_max))

    @property
    def holds_stream(self) -> bool:
        """Whether the stream must wait, because it would pass the position of the rows."""
        return self._stage in ("opening", "writing")

    @property
    def is_approaching(self) -> bool:
        """Whether the stream goes on to the position of the rows, transaction by transaction."""
        return self._stage == "approaching"

    def take(self, result: jobs.PassResult) -> None:
        if isinstance(result, jobs.PassReady):
            self._stage = "opening"
            self.opened_at = self._output.seconds
            self._readers.go_on()
        elif isinstance(result, jobs.PassSnapshot):
            self._stage = "approaching"
            self._position = result.position
            self._read_us = result.read_us
        else:
            self._chunks.append(result)

    def give_up(self) -> None:
        """Let the reader continue, which waits until a chunk is written."""
        for _ in self._chunks:
            self._readers.go_on()
        self._chunks.clear()

    def step(self) -> Literal["going on", "in vain", "complete"]:
        """Write the rows that were read, if the stream is at their position.

        Returns "in vain" if a table has changed by then, or the stream has passed the position.
        Raises as `CopyOutput.put_chunk` does.
        """
        output = self._output
        if self._stage == "approaching":
            position = output.position
            if position is None or self._position is None or position < self._position:
                return "going on"
            if [copy.watched.changes for copy in self.copies] != self._changes:
                return "in vain"
            delivered = output.transaction_end
            if delivered is not None and delivered > self._position:
                # The position is the beginning of a file, where no transaction ends.
                return "in vain"
            self._stage = "writing"
            self._drop_earlier_rows()
        if self._stage == "writing":
            while self._chunks:
                chunk = self._chunks.pop(0)
                # The reader waits for this call also after the last chunk.
                self._readers.go_on()
                self._unread -= chunk.is_last
                if chunk.chunk.count:
                    self._put_held(chunk)
                    self._held = chunk
            if not self._unread:
                self._put_held(None)
                return "complete"
        return "going on"

    def _put_held(self, following: jobs.PassChunk | None) -> None:
        """Write the chunk before `following`; its rows say which are the first and the last."""
        held = self._held
        if held is None:
            return
        copy = self._copies[held.part.copy]
        marks = COPIED, COPIED
        if copy.state.together:
            marks = _first(self._written, held.part), _last(held.part, following)
        rows, quarantined = self._output.put_chunk(held.chunk, frozenset(), self._read_us, marks)
        copy.count_rows(rows, quarantined, self._output.seconds)
        self._written = held.part

    def _drop_earlier_rows(self) -> None:
        for copy in self.copies:
            copy.state.rows = copy.state.kept_back = 0
            if not copy.state.where:
                assert copy.planned is not None
                schema = copy.planned.table.schema
                self._output.put_rows_gone(schema.database, schema.table, schema)


def _first(before: jobs.PassPart | None, part: jobs.PassPart) -> str:
    """Return the mark of the first row of a chunk of `part`, which follows one of `before`."""
    if before is None:
        return "first"
    return COPIED if before is part else "first_in_data_collection"


def _last(part: jobs.PassPart, following: jobs.PassChunk | None) -> str:
    """Return the mark of the last row of a chunk of `part`, which `following` follows."""
    if following is None:
        return "last"
    return COPIED if following.part is part else "last_in_data_collection"
