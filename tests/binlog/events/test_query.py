from __future__ import annotations

import pytest

from connector.binlog.events.query import (
    DuplicateHandling,
    ExecuteLoadQueryEvent,
    QueryEvent,
    RowsQueryEvent,
)
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError


def query(variables: bytes = b"", schema: bytes = b"shop", text: bytes = b"BEGIN") -> PayloadReader:
    return PayloadReader(
        (155).to_bytes(4, "little")
        + (3).to_bytes(4, "little")
        + bytes([len(schema)])
        + (1064).to_bytes(2, "little")
        + len(variables).to_bytes(2, "little")
        + variables
        + schema
        + b"\0"
        + text
    )


def variables(data: bytes) -> StatusVariables:
    return StatusVariables.decode(PayloadReader(data))


def test_a_query_says_who_ran_it_where_and_how_it_ended() -> None:
    event = QueryEvent.decode(query())
    assert (event.thread_id, event.exec_time, event.error_code) == (155, 3, 1064)
    assert (event.schema, event.query, event.query_bytes) == ("shop", "BEGIN", b"BEGIN")
    assert event.updated_databases is None


@pytest.mark.parametrize(
    ("collation", "text"),
    [(8, "caf\u00e9"), (45, "caf\\xe9"), (63, "caf\\xe9"), (51, "caf\u0439"), (9999, "caf\\xe9")],
)
def test_a_query_is_text_by_the_character_set_of_its_client(collation: int, text: str) -> None:
    charset = b"\x04" + collation.to_bytes(2, "little") * 3
    event = QueryEvent.decode(query(charset, text=b"caf\xe9"))
    assert (event.query, event.query_bytes) == (text, b"caf\xe9")


def test_a_query_without_a_character_set_is_utf8() -> None:
    assert QueryEvent.decode(query(text="é".encode())).query == "é"


def test_a_query_of_an_old_format_has_no_status_variables() -> None:
    body = query()
    old = body.data[:11] + body.data[13:]
    event = QueryEvent.decode(PayloadReader(old), 11)
    assert event == QueryEvent.decode(query())
    assert event.status_variables == StatusVariables()


def test_what_a_newer_server_adds_to_the_fixed_part_is_skipped() -> None:
    body = query(b"\x07\x01\x00")
    longer = body.data[:13] + b"new" + body.data[13:]
    assert QueryEvent.decode(PayloadReader(longer), 16) == QueryEvent.decode(
        PayloadReader(body.data)
    )


@pytest.mark.parametrize("length", range(21))
def test_a_query_cut_before_its_text_is_an_error(length: int) -> None:
    whole = query(b"\x07\x01\x00", text=b"").data
    assert len(whole) == 21
    with pytest.raises(TruncatedPayload):
        QueryEvent.decode(PayloadReader(whole[:length]))


def test_the_name_of_a_schema_is_utf8() -> None:
    with pytest.raises(DecodeError) as caught:
        QueryEvent.decode(query(schema=b"\xff"))
    assert caught.value.text == "the name of the default database is not UTF-8"


def test_status_variables_longer_than_the_event_are_an_error() -> None:
    body = query()
    cut = bytearray(body.data)
    cut[11:13] = b"\xff\xff"
    with pytest.raises(TruncatedPayload) as caught:
        QueryEvent.decode(PayloadReader(bytes(cut)))
    assert caught.value.text == "need 65535 bytes at offset 13, but the payload ends at 23"


def test_every_status_variable_of_mysql_is_read() -> None:
    read = variables(
        b"\x00\x00\x40\x00\x00"
        b"\x01\x20\x00\xa0\x55\x00\x00\x00\x00"
        b"\x02\x03std\x00"
        b"\x03\x02\x00\x01\x00"
        b"\x04\x21\x00\x2d\x00\xff\x00"
        b"\x05\x06SYSTEM"
        b"\x06\x03std"
        b"\x07\x01\x00"
        b"\x08\x08\x00"
        b"\x09\x01\x00\x00\x00\x00\x00\x00\x00"
        b"\x0a\x50\x00\x00\x00"
        b"\x0b\x04root\x09localhost"
        b"\x0c\x02shop\x00crm\x00"
        b"\x0d\x40\xe2\x01"
        b"\x0e12345678"
        b"\x0f\x02\x00\x00\x00\x00\x00\x00\x00"
        b"\x10\x01"
        b"\x11\x12\x00\x00\x00\x00\x00\x00\x00"
        b"\x12\xff\x00"
        b"\x13\x01"
        b"\x14\x00"
        b"\x15\x01"
    )
    assert read == StatusVariables(
        flags2=0x4000,
        sql_mode=0x55A00020,
        catalog="std",
        auto_increment=(2, 1),
        charset=(33, 45, 255),
        time_zone="SYSTEM",
        lc_time_names=1,
        charset_database=8,
        table_map_for_update=1,
        master_data_written=80,
        invoker=("root", "localhost"),
        updated_databases=["shop", "crm"],
        microseconds=123456,
        commit_ts=0x3837363534333231,
        commit_ts2=2,
        explicit_defaults_for_timestamp=1,
        ddl_xid=18,
        default_collation_for_utf8mb4=255,
        sql_require_primary_key=1,
        default_table_encryption=0,
        enable_cascade_triggers=1,
    )


def test_mariadb_writes_its_collations_before_the_character_set() -> None:
    read = variables(b"\x83\x01\x2d\x00\x00\x09\x04\x21\x00\x2d\x00\x08\x00\x80\x07\x00\x00")
    assert read.character_set_collations == [(45, 2304)]
    assert (read.charset, read.microseconds) == ((33, 45, 8), 7)


@pytest.mark.parametrize("flags", [0x04, 0x08])
def test_mariadb_names_the_alter_that_a_later_one_ends(flags: int) -> None:
    read = variables(
        b"\x82" + bytes([flags]) + (5).to_bytes(8, "little") + b"\x81" + (9).to_bytes(8, "little")
    )
    assert (read.gtid_flags_extra, read.sa_seq_no, read.ddl_xid) == (flags, 5, 9)


def test_other_extra_flags_of_mariadb_stand_alone() -> None:
    assert variables(b"\x82\x02\x07\x01\x00").lc_time_names == 1


def test_too_many_databases_are_not_listed() -> None:
    read = variables(b"\x0c\xfe\x07\x01\x00")
    assert read == StatusVariables(too_many_databases=True, lc_time_names=1)


def test_an_unknown_variable_ends_the_reading_and_is_kept_with_what_follows() -> None:
    read = variables(b"\x07\x01\x00\x63\x07\x02\x00")
    assert read == StatusVariables(lc_time_names=1, unknown=b"\x63\x07\x02\x00")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x0c\x01shop", "the name of an updated database has no end"),
        (b"\x0c\x01\xff\x00", "the text of a status variable is not UTF-8"),
        (b"\x05\x01\xff", "the text of a status variable is not UTF-8"),
        (b"\x01\x00", "need 8 bytes at offset 1, but the payload ends at 2"),
    ],
)
def test_a_broken_variable_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        variables(data)
    assert caught.value.text == message


def test_a_rows_query_has_a_length_of_no_use() -> None:
    assert RowsQueryEvent.decode(PayloadReader(b"\x05INSERT \xff")).query == "INSERT \\xff"


LOAD_TEXT = b"LOAD DATA INFILE 'f' INTO TABLE t"


def execute_load_query(start: int = 10, end: int = 20, handling: int = 2) -> bytes:
    """The body of an EXECUTE_LOAD_QUERY_EVENT for file 7."""
    whole = query(b"\x07\x01\x00", text=LOAD_TEXT).data
    numbers = b"".join(number.to_bytes(4, "little") for number in (7, start, end))
    return whole[:13] + numbers + bytes([handling]) + whole[13:]


def test_a_load_query_names_its_file_and_where_it_stands_in_the_text() -> None:
    event = ExecuteLoadQueryEvent.decode(PayloadReader(execute_load_query()))
    assert event.query_bytes == LOAD_TEXT
    assert event.status_variables.lc_time_names == 1
    assert (event.schema, event.file_id) == ("shop", 7)
    assert event.query_bytes[event.start_pos : event.end_pos] == b"INFILE 'f'"
    assert event.duplicate_handling is DuplicateHandling.REPLACE


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (execute_load_query(21, 20), "the file name from 21 to 20 is not in a query of 33 bytes"),
        (execute_load_query(10, 34), "the file name from 10 to 34 is not in a query of 33 bytes"),
        (
            execute_load_query(handling=3),
            "duplicate handling 3 is not known; upgrade the connector",
        ),
    ],
)
def test_a_broken_load_query_is_an_error(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        ExecuteLoadQueryEvent.decode(PayloadReader(body))
    assert caught.value.text == message


@pytest.mark.parametrize("length", range(34))
def test_a_load_query_cut_before_its_text_is_an_error(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        ExecuteLoadQueryEvent.decode(PayloadReader(execute_load_query()[:length]))
