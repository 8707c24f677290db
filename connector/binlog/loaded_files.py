"""The events of LOAD DATA become the file that was loaded.

::

    CREATE_FILE or BEGIN_LOAD_QUERY ──▶ APPEND_BLOCK … ──▶ EXEC_LOAD or EXECUTE_LOAD_QUERY: the file
                                                      └──▶ DELETE_FILE: nothing

The blocks of several files may alternate. A file's id is unique for the server that wrote it.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Append__block__event.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
)
from connector.binlog.events.statement import ExecuteLoadQueryEvent
from connector.errors import DecodeError, log_events

if TYPE_CHECKING:
    from connector.binlog.event import Event


@dataclass(slots=True)
class LoadedFile:
    """A file of LOAD DATA, complete."""

    begin: CreateFileEvent | BeginLoadQueryEvent
    execute: ExecLoadEvent | ExecuteLoadQueryEvent
    content: bytes


class LoadedFiles:
    """Joins the blocks of files from the events of one log."""

    def __init__(self, bytes_max: int) -> None:
        """Keep at most this many bytes of incomplete files."""
        self._bytes_max = bytes_max
        self._bytes = 0
        self._open: dict[
            tuple[int, int], tuple[CreateFileEvent | BeginLoadQueryEvent, list[bytes]]
        ] = {}

    def receive(self, event: Event) -> LoadedFile | None:
        """Take the next event; return the file if the event completes one.

        Raises DecodeError for a block of a file that was not begun, and above the limit of bytes.
        """
        body = event.body
        if isinstance(body, (CreateFileEvent, BeginLoadQueryEvent)):
            key = event.header.server_id, body.file_id
            # The server died before it completed an earlier file with the same id.
            self._forget(key)
            self._open[key] = (body, [])
            self._append(key, body.block)
        elif isinstance(body, AppendBlockEvent):
            self._append((event.header.server_id, body.file_id), body.block)
        elif isinstance(body, DeleteFileEvent):
            self._forget((event.header.server_id, body.file_id))
        elif isinstance(body, (ExecLoadEvent, ExecuteLoadQueryEvent)):
            key = event.header.server_id, body.file_id
            begin, blocks = self._require(key)
            self._forget(key)
            return LoadedFile(begin, body, b"".join(blocks))
        return None

    def _append(self, key: tuple[int, int], block: bytes) -> None:
        _, blocks = self._require(key)
        self._bytes += len(block)
        if self._bytes > self._bytes_max:
            raise DecodeError(log_events.LOADED_TOO_MUCH, limit=self._bytes_max)
        blocks.append(block)

    def _require(
        self, key: tuple[int, int]
    ) -> tuple[CreateFileEvent | BeginLoadQueryEvent, list[bytes]]:
        opened = self._open.get(key)
        if opened is None:
            raise DecodeError(log_events.LOAD_NOT_BEGUN, file=key[1], server=key[0])
        return opened

    def _forget(self, key: tuple[int, int]) -> None:
        _, blocks = self._open.pop(key, (None, []))
        self._bytes -= sum(map(len, blocks))
