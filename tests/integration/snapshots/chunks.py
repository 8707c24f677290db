"""What a SELECT gives, in one piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.envelope.copied.selected_chunk import Chunk
    from connector.envelope.copied.selected_rows import SelectedRowWriter
    from connector.source.server.select_session import SelectSession


def whole_chunk(session: SelectSession, sql: str, writer: SelectedRowWriter) -> Chunk:
    """Run a SELECT of `SelectedTable.select_list` and return all of its rows."""
    ((chunk, _),) = session.read_chunks(sql, writer, 1 << 40)
    return chunk
