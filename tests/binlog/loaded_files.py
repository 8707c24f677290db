"""The events of LOAD DATA become the files that were loaded, to compare them with what was.

Their blocks may alternate; a file's id is unique for the server that wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
)
from connector.binlog.events.query import ExecuteLoadQueryEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.binlog.event import Event


def loaded_files(events: Iterable[Event]) -> Iterator[bytes]:
    """Yield the content of each file that was loaded, in the order of the statements."""
    files: dict[tuple[int, int], bytes] = {}
    for event in events:
        body = event.body
        if isinstance(body, (CreateFileEvent, BeginLoadQueryEvent)):
            files[event.header.server_id, body.file_id] = body.block
        elif isinstance(body, AppendBlockEvent):
            files[event.header.server_id, body.file_id] += body.block
        elif isinstance(body, DeleteFileEvent):
            del files[event.header.server_id, body.file_id]
        elif isinstance(body, (ExecLoadEvent, ExecuteLoadQueryEvent)):
            yield files.pop((event.header.server_id, body.file_id))
