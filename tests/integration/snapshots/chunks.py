"""Chunks of tables, as readers are asked for them, and what a SELECT gives in one piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.stream.snapshot.jobs import ChunkJob
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.snapshot.watermark import DeliveredPosition, log_end

if TYPE_CHECKING:
    from connector.stream.envelope.copied_chunk import Chunk
    from connector.stream.envelope.selected_rows import SelectRowWriter
    from connector.stream.source.select_session import SelectSession
    from connector.stream.source.selected_table import SelectedTable

BYTES_MAX = 1 << 20


def whole_chunk(session: SelectSession, sql: str, writer: SelectRowWriter) -> Chunk:
    """Run a SELECT of `SelectedTable.select_list` and return all of its rows."""
    ((chunk, _),) = session.read_chunks(sql, writer, 1 << 40)
    return chunk


def delivered(session: SelectSession) -> DeliveredPosition:
    """Return that the stream has delivered the whole log."""
    gtids = None
    if session.identity.flavour == "mysql":
        gtids = session.query("SELECT @@GLOBAL.gtid_executed AS gtids")[0]["gtids"]
    return DeliveredPosition(gtids, log_end(session))


def chunk_job(session: SelectSession, table: SelectedTable, copy: int) -> ChunkJob:
    """Return the job of a copy that reads the beginning of a table."""
    return ChunkJob(
        copy,
        table,
        transactional=True,
        part=0,
        range=KeyRange(),
        after=[],
        where="",
        limit=10,
        bytes_max=BYTES_MAX,
        delivered=delivered(session),
        window=1,
        changes=0,
    )
