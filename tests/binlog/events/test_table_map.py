from __future__ import annotations

import pytest

from connector.binlog.columns.column import Column, ColumnType, column_type_name
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.log_bytes import table_map, tlv

T = ColumnType
INT = (T.LONG, b"")
VARCHAR = (T.VARCHAR, b"\x28\x00")
ENUM = (T.STRING, b"\xf7\x01")
SET = (T.STRING, b"\xf8\x01")


def decode(columns: list[tuple[ColumnType, bytes]], optional: bytes = b"") -> TableMapEvent:
    return TableMapEvent.decode(PayloadReader(table_map(columns, optional)))


def test_a_table_has_a_name_and_columns() -> None:
    event = TableMapEvent.decode(PayloadReader(table_map([INT, VARCHAR], nullable=False)))
    assert (event.table_id, event.flags, event.schema, event.table) == (42, 1, "db", "t")
    assert event.columns == [
        Column(T.LONG, 0, nullable=False),
        Column(T.VARCHAR, 40, nullable=False),
    ]


def test_the_row_plan_is_made_once() -> None:
    event = decode([INT])
    assert event.row_plan is event.row_plan


def test_signs_are_told_of_numbers_alone_from_the_highest_bit_on() -> None:
    columns = [INT, VARCHAR, (T.NEWDECIMAL, b"\x0a\x02"), (T.YEAR, b""), (T.BIT, b"\x01\x00"), INT]
    event = decode(columns, tlv(1, b"\x50"))
    assert [c.unsigned for c in event.columns] == [False, False, True, False, False, True]


def test_a_default_character_set_has_exceptions() -> None:
    event = decode([VARCHAR, INT, VARCHAR, VARCHAR], tlv(2, b"\x2d\x01\xfc\x00\x01"))
    assert [c.collation for c in event.columns] == [45, None, 256, 45]


def test_labels_are_text_by_the_character_set_of_their_column() -> None:
    event = decode(
        [ENUM, SET, ENUM],
        tlv(6, b"\x01\x01\xe9" + b"\x01\x02\xc3\xa9")
        + tlv(5, b"\x02\x01a\x01b")
        + tlv(11, b"\x08\x08\x2d"),
    )
    assert [c.labels for c in event.columns] == [["é"], ["a", "b"], ["é"]]


def test_enums_and_sets_have_a_default_character_set_of_their_own() -> None:
    event = decode([VARCHAR, ENUM, SET], tlv(3, b"\x08") + tlv(10, b"\x2d\x01\x21"))
    assert [c.collation for c in event.columns] == [8, 45, 33]


def test_labels_without_a_character_set_are_not_read() -> None:
    assert decode([ENUM], tlv(6, b"\x01\x01\xe9")).columns[0].labels is None


def test_labels_that_are_not_of_their_character_set_are_not_read() -> None:
    event = decode([ENUM, ENUM], tlv(6, b"\x01\x01\xe9" + b"\x01\x01a") + tlv(11, b"\x2d\x3f"))
    assert [c.labels for c in event.columns] == [None, ["a"]]


@pytest.mark.parametrize(
    ("mariadb", "charset", "value"), [(False, None, "Zoë".encode()), (True, "latin1", "ZoÃ«")]
)
def test_a_collation_that_users_of_mysql_add_is_none_of_mariadb(
    mariadb: bool, charset: str | None, value: str | bytes
) -> None:
    body = PayloadReader(table_map([VARCHAR], tlv(3, b"\xfc\x05\x04")))
    event = TableMapEvent.decode(body, mariadb=mariadb)
    assert (event.columns[0].collation, event.columns[0].charset) == (1029, charset)
    (reader,) = event.row_plan.readers
    assert reader.read(PayloadReader(b"\x04" + "Zoë".encode())) == value


def test_names_keys_visibility_and_dimensions_are_told() -> None:
    event = decode(
        [INT, VARCHAR, (T.VECTOR, b"\x04"), (T.GEOMETRY, b"\x04")],
        tlv(4, b"\x01a\x02\xc3\xa9\x01v\x01g")
        + tlv(9, b"\x01\x05\x00\x00")
        + tlv(12, b"\x70")
        + tlv(13, b"\x03")
        + tlv(7, b"\x01"),
    )
    assert [c.name for c in event.columns] == ["a", "é", "v", "g"]
    assert [(c.primary_key, c.primary_key_prefix) for c in event.columns[:3]] == [
        (2, 0),
        (1, 5),
        (0, 0),
    ]
    assert [c.visible for c in event.columns] == [False, True, True, True]
    assert (event.columns[2].dimension, event.columns[3].geometry_type) == (3, 1)


def test_a_simple_key_is_in_key_order() -> None:
    event = decode([INT, INT, INT], tlv(8, b"\x02\x00"))
    assert [c.primary_key for c in event.columns] == [2, 0, 1]


def test_an_unknown_field_is_skipped_by_its_length_and_told() -> None:
    event = decode([INT], tlv(99, b"anything") + tlv(4, b"\x01a") + tlv(14, b"") + tlv(0, b""))
    assert event.columns[0].name == "a"
    assert event.unknown_fields == (99, 14, 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            table_map([INT], tlv(8, b"\x01")),
            "the optional metadata speaks of column 1, but there are 1",
        ),
        (
            table_map([INT], tlv(1, b"\x80\x00")),
            "1 bytes are left over after SIGNEDNESS",
        ),
        (
            table_map([VARCHAR], tlv(3, b"\x2d\x2d")),
            "1 bytes are left over after COLUMN_CHARSET",
        ),
        (table_map([INT], tlv(4, b"\x01\xff")), "the name of a column is not UTF-8"),
        (table_map([INT], b"\x04\x09a"), "need 9 bytes at offset 21, but the payload ends at 22"),
        (
            table_map([INT], tlv(4, b"\x05a")),
            "need 5 bytes at offset 22, but the payload ends at 23",
        ),
        (
            table_map([ENUM], tlv(10, b"\x2d\x03\x21")),
            "the optional metadata speaks of column 3, but there are 1",
        ),
        (
            table_map([ENUM], tlv(6, b"\xfe" + b"\xff" * 8) + tlv(10, b"\x2d")),
            "need 1 bytes at offset 32, but the payload ends at 32",
        ),
        (table_map([(T.LONG, b"\x00")]), "1 bytes of column metadata belong to no column"),
        (
            table_map([(T.VARCHAR, b"\x00")]),
            "need 2 bytes at offset 0, but the payload ends at 1",
        ),
        (table_map([INT])[:17], "need 1 bytes at offset 17, but the payload ends at 17"),
        (
            table_map([INT])[:15] + b"\xff" + table_map([INT])[16:],
            "0xff at offset 15 does not start a length-encoded integer",
        ),
        (
            table_map([INT]).replace(b"db", b"\xff\xff"),
            "the name of the schema or the table is not UTF-8",
        ),
        (
            table_map([INT]).replace(b"\x01\x03", b"\x01\x99"),
            "column type 153 is not known; upgrade the connector",
        ),
    ],
)
def test_a_table_map_that_lies_is_an_error(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        TableMapEvent.decode(PayloadReader(body))
    assert caught.value.text == message


def test_the_column_of_a_multi_valued_index_has_metadata_of_its_element() -> None:
    event = decode([(T.TYPED_ARRAY, b"\x0f\x28\x00\x00"), (T.TYPED_ARRAY, b"\x08"), VARCHAR])
    assert [c.metadata for c in event.columns] == [0x280F, 0x08, 40]


@pytest.mark.parametrize(
    ("column", "facts"),
    [
        (Column(T.TINY, 0, nullable=True), ("tinyint", None, None, None, None)),
        (Column(T.NEWDECIMAL, 0x020A, nullable=True), ("decimal", None, 10, 2, None)),
        (Column(T.VARCHAR, 40, nullable=True, collation=45), ("varchar", 40, None, None, None)),
        (Column(T.VARCHAR, 40, nullable=True, collation=63), ("varbinary", 40, None, None, None)),
        (Column(T.VARCHAR, 40, nullable=True), ("varbinary", 40, None, None, None)),
        (Column(T.STRING, 0xFCEE, nullable=True, collation=8), ("char", 508, None, None, None)),
        (Column(T.STRING, 0x04FE, nullable=True, collation=63), ("binary", 4, None, None, None)),
        (Column(T.BLOB, 2, nullable=True, collation=45), ("text", None, None, None, None)),
        (Column(T.BLOB, 4, nullable=True, collation=63), ("blob", None, None, None, None)),
        (Column(T.BIT, 0x0101, nullable=True), ("bit", 9, None, None, None)),
        (Column(T.STRING, 0x01F7, nullable=True), ("enum", None, None, None, None)),
        (Column(T.STRING, 0x01F8, nullable=True), ("set", None, None, None, None)),
        (Column(T.DATE, 0, nullable=True), ("date", None, None, None, None)),
        (Column(T.DATETIME2, 6, nullable=True), ("datetime", None, None, None, 6)),
        (Column(T.TIMESTAMP2, 3, nullable=True), ("timestamp", None, None, None, 3)),
        (Column(T.TIME2, 0, nullable=True), ("time", None, None, None, 0)),
        (Column(T.DATETIME, 0, nullable=True), ("datetime", None, None, None, 0)),
        (Column(T.TYPED_ARRAY, 0, nullable=True), ("json", None, None, None, None)),
        (
            Column(T.VARCHAR_COMPRESSED, 41, nullable=True, collation=45),
            ("varchar", 40, None, None, None),
        ),
        (
            Column(T.BLOB_COMPRESSED, 2, nullable=True, collation=63),
            ("blob", None, None, None, None),
        ),
        (Column(T.NULL, 0, nullable=True), ("type 6", None, None, None, None)),
    ],
)
def test_a_column_has_the_facts_of_its_sql_type(
    column: Column, facts: tuple[str, int | None, int | None, int | None, int | None]
) -> None:
    assert (
        column.type_name,
        column.length,
        column.precision,
        column.scale,
        column.fraction,
    ) == facts


def test_types_have_mysqls_names() -> None:
    assert (column_type_name(246), column_type_name(99)) == ("NEWDECIMAL", "column type 99")


def test_a_table_map_of_a_5_1_pre_release_may_tell_no_more_than_types() -> None:
    bare = TableMapEvent.decode(PayloadReader(table_map([INT])[:17]), pre_ga=True)
    assert (bare.schema, bare.table, bare.has_metadata) == ("db", "t", False)
    assert [column.type_code for column in bare.columns] == [T.LONG]
    whole = TableMapEvent.decode(PayloadReader(table_map([INT])), pre_ga=True)
    assert whole.has_metadata


def test_what_a_newer_server_adds_to_the_fixed_part_of_a_table_map_is_skipped() -> None:
    body = table_map([INT])
    longer = TableMapEvent.decode(PayloadReader(body[:8] + b"new" + body[8:]), 11)
    assert longer == TableMapEvent.decode(PayloadReader(body))
