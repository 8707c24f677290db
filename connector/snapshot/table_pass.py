"""The copy of a table that is read at once: the stream waits at the position of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from connector.snapshot.jobs import PassOpened, PassReady

if TYPE_CHECKING:
    from connector.snapshot.jobs import PassChunk, PassResult
    from connector.snapshot.output import CopyOutput
    from connector.snapshot.reader_pool import ReaderPool
    from connector.snapshot.table_copy import TableCopy
    from connector.snapshot.watermark import LogPosition


class TablePass:
    """One attempt; if it breaks, the next one begins with the first row.

    The stream stands still while the reader opens its snapshot. The snapshot's position is then at
    the stream's position or after it.
    """

    def __init__(self, copy: TableCopy, output: CopyOutput, readers: ReaderPool) -> None:
        """Ask for the rows."""
        self.copy = copy
        self._output = output
        self._readers = readers
        self._changes = copy.watched.changes
        self._stage: Literal["asked", "opening", "approaching", "writing"] = "asked"
        self._position: LogPosition | None = None
        self._read_us = 0
        self._chunks: list[PassChunk] = []
        readers.submit(copy.pass_job())

    @property
    def holds_stream(self) -> bool:
        """Whether the stream must wait, because it would pass the position of the rows."""
        return self._stage in ("opening", "writing")

    @property
    def is_approaching(self) -> bool:
        """Whether the stream goes on to the position of the rows, transaction by transaction."""
        return self._stage == "approaching"

    def take(self, result: PassResult) -> None:
        """Take the next answer of the reader."""
        if isinstance(result, PassReady):
            self._stage = "opening"
            self._readers.go_on()
        elif isinstance(result, PassOpened):
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

        Returns "in vain" if the table has changed by then, or the stream has passed the position.
        Raises as `CopyOutput.put_chunk` does.
        """
        copy, output = self.copy, self._output
        if self._stage == "approaching":
            position = output.position
            if position is None or self._position is None or position < self._position:
                return "going on"
            if copy.watched.changes != self._changes:
                return "in vain"
            delivered = output.transaction_end
            if delivered is not None and delivered > self._position:
                # The position is the beginning of a file, where no transaction ends.
                return "in vain"
            self._stage = "writing"
            copy.state.rows = copy.state.kept_back = 0
            if not copy.state.where:
                assert copy.planned is not None
                schema = copy.planned.table.schema
                output.put_rows_gone(schema.database, schema.table, schema)
        if self._stage == "writing":
            while self._chunks:
                chunk = self._chunks.pop(0)
                # The reader waits for this call also after the last chunk.
                self._readers.go_on()
                rows, kept_back = output.put_chunk(chunk.chunk, frozenset(), self._read_us)
                copy.count_rows(rows, kept_back, output.seconds)
                if chunk.is_last:
                    return "complete"
        return "going on"
