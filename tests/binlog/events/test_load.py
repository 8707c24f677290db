from __future__ import annotations

import pytest

from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
    LoadFlag,
    LoadFormat,
)
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

FIXED = (
    b"".join(number.to_bytes(4, "little") for number in (11, 2, 1))
    + b"\x01\x02"
    + (2).to_bytes(4, "little")
)
OLD_FORMAT = b',"\n\x00\\' + bytes([LoadFlag.OPT_ENCLOSED | LoadFlag.REPLACE]) + b"\x08"
NEW_FORMAT = b"\x02||\x01'\x02\r\n\x00\x01\\" + bytes([LoadFlag.IGNORE])
NAMES = b"\x02\x04" + b"id\0name\0" + b"t\0" + b"db\0"
FILE_7 = b"\x07\x00\x00\x00"
CREATE_FILE = FIXED + FILE_7 + NEW_FORMAT + NAMES + b"f.txt\0" + b"1||'a'\r\n"


def test_the_load_of_3_23_has_separators_of_one_byte() -> None:
    body = FIXED + OLD_FORMAT + NAMES + b"f.txt"
    assert LoadEvent.decode(PayloadReader(body), old_format=True) == LoadEvent(
        thread_id=11,
        exec_time=2,
        skip_lines=1,
        schema="db",
        table="t",
        columns=["id", "name"],
        format=LoadFormat(b",", b'"', b"\n", b"", b"\\", LoadFlag.OPT_ENCLOSED | LoadFlag.REPLACE),
        file_name="f.txt",
    )


def test_the_load_of_4_0_has_separators_of_any_length() -> None:
    event = LoadEvent.decode(PayloadReader(FIXED + NEW_FORMAT + NAMES + b"f.txt"))
    assert event.format == LoadFormat(b"||", b"'", b"\r\n", b"", b"\\", LoadFlag.IGNORE)
    assert (event.schema, event.table, event.file_name) == ("db", "t", "f.txt")


def test_create_file_has_the_first_block_of_the_file() -> None:
    event = CreateFileEvent.decode(PayloadReader(CREATE_FILE))
    assert (event.schema, event.table, event.columns) == ("db", "t", ["id", "name"])
    assert (event.file_name, event.file_id, event.block) == ("f.txt", 7, b"1||'a'\r\n")
    assert event.format.field_term == b"||"


@pytest.mark.parametrize("length", range(CREATE_FILE.index(b"1||'a'")))
def test_create_file_cut_before_its_block_is_an_error(length: int) -> None:
    with pytest.raises(DecodeError):
        CreateFileEvent.decode(PayloadReader(CREATE_FILE[:length]))


@pytest.mark.parametrize("old_format", [True, False])
def test_a_load_cut_before_its_file_name_is_an_error(old_format: bool) -> None:
    body = FIXED + (OLD_FORMAT if old_format else NEW_FORMAT) + NAMES
    for length in range(len(body)):
        with pytest.raises(TruncatedPayload):
            LoadEvent.decode(PayloadReader(body[:length]), old_format=old_format)


def test_fixed_parts_have_the_lengths_that_the_log_gives_them() -> None:
    body = FIXED + b"new" + FILE_7 + b"er" + CREATE_FILE[len(FIXED) + 4 :]
    assert CreateFileEvent.decode(PayloadReader(body), 21, 6) == CreateFileEvent.decode(
        PayloadReader(CREATE_FILE)
    )
    assert AppendBlockEvent.decode(PayloadReader(FILE_7 + b"newblock"), 7).block == b"block"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            FIXED + NEW_FORMAT + b"\x01\x04" + NAMES[2:],
            "the name of a column does not end where its length says",
        ),
        (
            FIXED + NEW_FORMAT + b"\x02\x04\xff\xff\0name\0t\0db\0",
            "the name of a column is not UTF-8",
        ),
        (
            FIXED + NEW_FORMAT + b"\x02\x04id\0name\0\xff\0db\0",
            "the name of the table is not UTF-8",
        ),
        (
            FIXED + NEW_FORMAT + b"\x02\x04id\0name\0t\0db!",
            "the name of the schema does not end where its length says",
        ),
    ],
)
def test_broken_names_are_errors(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        LoadEvent.decode(PayloadReader(body))
    assert caught.value.text == message


def test_a_file_name_without_an_end_is_an_error() -> None:
    with pytest.raises(DecodeError) as caught:
        CreateFileEvent.decode(PayloadReader(FIXED + FILE_7 + NEW_FORMAT + NAMES + b"f.txt"))
    assert caught.value.text == "the name of the file has no end"


def test_a_number_of_columns_that_lies_allocates_nothing() -> None:
    body = FIXED[:-4] + b"\xff\xff\xff\xff" + NEW_FORMAT
    with pytest.raises(TruncatedPayload) as caught:
        LoadEvent.decode(PayloadReader(body))
    assert caught.value.text == "need 4294967295 bytes at offset 30, but the payload ends at 30"


def test_events_of_a_file_name_it_by_number() -> None:
    assert AppendBlockEvent.decode(PayloadReader(FILE_7 + b"x")) == AppendBlockEvent(7, b"x")
    assert BeginLoadQueryEvent.decode(PayloadReader(FILE_7)) == BeginLoadQueryEvent(7, b"")
    assert ExecLoadEvent.decode(PayloadReader(FILE_7)) == ExecLoadEvent(7)
    assert DeleteFileEvent.decode(PayloadReader(FILE_7)) == DeleteFileEvent(7)


@pytest.mark.parametrize(
    "event_class", [AppendBlockEvent, BeginLoadQueryEvent, ExecLoadEvent, DeleteFileEvent]
)
@pytest.mark.parametrize("length", range(4))
def test_a_number_of_a_file_that_is_cut_is_an_error(
    event_class: type[AppendBlockEvent | BeginLoadQueryEvent | ExecLoadEvent | DeleteFileEvent],
    length: int,
) -> None:
    with pytest.raises(TruncatedPayload) as caught:
        event_class.decode(PayloadReader(FILE_7[:length]))
    assert caught.value.text == f"need 4 bytes at offset 0, but the payload ends at {length}"
