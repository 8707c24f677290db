from __future__ import annotations

import pytest

from connector.binlog.event import Event, EventBody
from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadFlag,
    LoadFormat,
)
from connector.binlog.events.statement import DuplicateHandling, ExecuteLoadQueryEvent
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.events.transaction import XidEvent
from connector.binlog.framing.header import EventHeader
from connector.binlog.loaded_files import LoadedFile, LoadedFiles
from connector.errors import DecodeError


def received(files: LoadedFiles, body: EventBody, server_id: int = 1) -> LoadedFile | None:
    header = EventHeader(7, 0, server_id, 100, 0, 0)
    return files.receive(Event("binlog.000001", 4, 104, header, body, b""))


def create(block: bytes, file_id: int = 7) -> CreateFileEvent:
    separators = LoadFormat(b",", b"", b"\n", b"", b"\\", LoadFlag(0))
    return CreateFileEvent(9, 0, 0, "shop", "t", [], separators, "f.txt", file_id, block)


def execute(file_id: int = 7) -> ExecuteLoadQueryEvent:
    return ExecuteLoadQueryEvent(
        9, 0, 0, "shop", StatusVariables(), b"", "", file_id, 0, 0, DuplicateHandling.ERROR
    )


def test_blocks_make_the_file_that_is_loaded() -> None:
    files = LoadedFiles(100)
    begin = BeginLoadQueryEvent(7, b"one,")
    assert received(files, begin) is None
    assert received(files, AppendBlockEvent(7, b"two,")) is None
    assert received(files, XidEvent(1)) is None
    assert received(files, AppendBlockEvent(7, b"three")) is None
    assert received(files, execute()) == LoadedFile(begin, execute(), b"one,two,three")


def test_blocks_of_several_files_and_servers_may_alternate() -> None:
    files = LoadedFiles(100)
    received(files, create(b"a"))
    received(files, create(b"b", file_id=8))
    received(files, create(b"c"), server_id=2)
    received(files, AppendBlockEvent(8, b"b"))
    received(files, AppendBlockEvent(7, b"a"))
    contents = [
        received(files, ExecLoadEvent(7), server_id=2),
        received(files, ExecLoadEvent(7)),
        received(files, ExecLoadEvent(8)),
    ]
    assert [loaded.content for loaded in contents if loaded is not None] == [b"c", b"aa", b"bb"]


@pytest.mark.parametrize("body", [AppendBlockEvent(7, b""), ExecLoadEvent(7), execute()])
def test_a_file_that_was_not_begun_is_an_error(body: EventBody) -> None:
    with pytest.raises(DecodeError) as caught:
        received(LoadedFiles(100), body)
    assert caught.value.text == "no event began the LOAD DATA file 7 of server 1"


def test_a_deleted_file_is_forgotten() -> None:
    files = LoadedFiles(4)
    received(files, create(b"1234"))
    received(files, DeleteFileEvent(7))
    received(files, DeleteFileEvent(7))
    with pytest.raises(DecodeError):
        received(files, ExecLoadEvent(7))
    received(files, create(b"1234"))


def test_a_file_that_is_begun_again_starts_over() -> None:
    files = LoadedFiles(4)
    received(files, create(b"1234"))
    received(files, create(b"5678"))
    loaded = received(files, ExecLoadEvent(7))
    assert loaded is not None
    assert loaded.content == b"5678"


def test_the_bytes_of_open_files_are_bounded() -> None:
    files = LoadedFiles(4)
    received(files, create(b"12"))
    received(files, create(b"34", file_id=8))
    with pytest.raises(DecodeError) as caught:
        received(files, AppendBlockEvent(8, b"5"))
    assert caught.value.text == "the files of LOAD DATA that are open have more than 4 bytes"
