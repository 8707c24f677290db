"""The copy of a table that is read at once: the stream waits at the place that its rows are of."""

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
    """One attempt; where it breaks, the next one begins with the first row.

    The stream stands still from when the reader is about to open its snapshot until that is open;
    the snapshot's place is then ahead of the stream, or where it stands.
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
        """Whether the stream must not go on: it would pass by the place of the rows."""
        return self._stage in ("opening", "writing")

    @property
    def is_approaching(self) -> bool:
        """Whether the stream goes on to the place of the rows, transaction by transaction."""
        return self._stage == "approaching"

    def take(self, result: PassResult) -> None:
        """Take what the reader says next."""
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
        """Let the reader go on, who waits until a chunk is written."""
        for _ in self._chunks:
            self._readers.go_on()
        self._chunks.clear()

    def step(self) -> Literal["going on", "in vain", "complete"]:
        """Write what was read, where the stream stands at its place.

        In vain where the table is another one by then, or the stream has passed by the place.
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
                # The place is the beginning of a file, which is no transaction's end.
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
                # Also where this is the last that is written, it waits for that.
                self._readers.go_on()
                rows, kept_back = output.put_chunk(chunk.chunk, frozenset(), self._read_us)
                copy.count_rows(rows, kept_back, output.seconds)
                if chunk.is_last:
                    return "complete"
        return "going on"
