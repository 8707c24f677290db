"""The server and Arrow write the same text of a row, and the same sums, on every server."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from connector.foundation.settings.sections import MaskSettings, RetrySettings, SnapshotSettings
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.watermark import DeliveredPosition
from connector.stream.source.select_session import SelectSession
from stream_jobs.settings import TableSettings
from stream_jobs.tables.table_options import TableOptionsResolver
from verification.checksums import Checksums, ServerChecksums, sql_of_hash
from verification.key_ranges import KeyNumber, KeyRanges, numbers_of
from verification.patience import Patience
from verification.row_text import RowText
from verification.source_table import SourceTable, table_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

# A type, and literals of its values.
TYPES = [
    ("TINYINT", "-128", "0"),
    ("TINYINT UNSIGNED ZEROFILL", "5", "255"),
    ("MEDIUMINT", "-8388608", "7"),
    ("INT UNSIGNED", "4294967295", "0"),
    ("BIGINT", "-9223372036854775808", "9223372036854775807"),
    ("BIGINT UNSIGNED", "18446744073709551615", "0"),
    ("DECIMAL(10,2)", "-0.05", "99999999.99"),
    ("DECIMAL(10,2) ZEROFILL", "1.50", "0"),
    ("DECIMAL(38,0)", "-99999999999999999999999999999999999999", "0"),
    ("DECIMAL(30,20)", "-0.00000000000000000001", "1234567890.5"),
    ("DECIMAL(20,7)", "0", "-0.0000001"),
    ("DECIMAL(65,30)", "-0.000000000000000000000000000001", "12.5"),
    ("BIT(1)", "b'1'", "b'0'"),
    ("BIT(64)", "18446744073709551615", "0"),
    ("YEAR", "2155", "0"),
    ("DATE", "'0001-01-01'", "'9999-12-31'"),
    ("DATETIME", "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'"),
    ("DATETIME(1)", "'2026-01-31 08:15:00.5'", "'1582-10-10 00:00:00'"),
    ("DATETIME(3)", "'1969-12-31 23:59:59.999'", "'2026-01-31 08:15:00'"),
    ("DATETIME(4)", "'2026-01-31 08:15:00.0001'", "'1000-01-01 00:00:00'"),
    ("DATETIME(6)", "'1000-01-01 00:00:00.000001'", "'2026-01-31 08:15:00'"),
    ("TIMESTAMP", "'1970-01-02 00:00:01'", "'2038-01-18 03:14:07'"),
    ("TIMESTAMP(3)", "'2038-01-18 03:14:07.999'", "'2026-03-29 02:30:00.5'"),
    ("TIME", "'-838:59:59'", "'00:00:00'"),
    ("TIME(3)", "'-00:00:00.001'", "'838:59:58.5'"),
    ("CHAR(9)", "'a b  '", "''"),
    ("CHAR(9) CHARACTER SET utf8mb4", "'🐬,N,1'", "'N'"),
    ("VARCHAR(20) CHARACTER SET latin1", "'Grüße €  '", "X'8180FF'"),
    ("VARCHAR(20) CHARACTER SET utf8", "'日本'", "''"),
    ("VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin", "'a,b'", "'\\0'"),
    ("MEDIUMTEXT CHARACTER SET utf8mb4", "REPEAT('é', 70000)", "'\\n\\\\'"),
    ("ENUM('small','größe')", "'größe'", "'small'"),
    ("SET('a','b','c')", "'a,c'", "''"),
    ("BINARY(4)", "X'00FF00'", "''"),
    ("VARBINARY(9)", "X'2C004E'", "''"),
    ("LONGBLOB", "X'7B0A00'", "''"),
]
INEXACT = [
    "FLOAT", "DOUBLE", "JSON", "GEOMETRY", "VARCHAR(9) CHARACTER SET utf16",
    "VARCHAR(9) CHARACTER SET gbk",
]  # fmt: skip


class Table:
    """One table: the text of its rows, and its rows in the types of the mirror."""

    def __init__(
        self,
        server: Source,
        place: str,
        choices: Sequence[TableSettings] = (),
        **columns: object,
    ) -> None:
        login = server.settings(user=server.create_account("SELECT, REPLICATION CLIENT"))
        self.settings = login.model_copy(update=columns)
        self.session = self.open()
        self.source = SourceTable(
            self.open,
            table_plan(self.session, (place, "t"), SnapshotSettings()),
            SourcePace(SnapshotSettings()),
            TableOptionsResolver(choices, "a salt of sixteen"),
            "error",
            Patience(RetrySettings(), 0.0),
        )
        self.names = [column["name"] for column in self.source.schema.columns]

    def open(self) -> SelectSession:
        return SelectSession(self.settings)

    def text(self) -> RowText | None:
        return RowText.of(self.session, self.source.schema, self.names)

    def rows(self) -> pa.Table:
        return pa.concat_tables(self.source.chunks(DeliveredPosition(None, None)))

    def key(self) -> KeyNumber:
        found = KeyNumber.of(self.source.key_columns[0], self.source.schema.columns[0])
        assert found is not None
        return found

    def close(self) -> None:
        self.source.close()
        self.session.close()


def test_server_and_arrow_write_the_same_text_of_a_row(server: Source, place: str) -> None:
    columns = ", ".join(f"c{number} {kind}" for number, (kind, *_) in enumerate(TYPES))
    rows = [
        "0" + ", NULL" * len(TYPES),
        *(
            f"{key}, {', '.join(each[1 + key % 2] for each in TYPES)}"
            for key in (1, 2, 18446744073709551614, 18446744073709551615)
        ),
    ]
    server.execute(
        "SET NAMES utf8mb4",
        "SET sql_mode = '', time_zone = '+00:00'",
        f"CREATE TABLE {place}.t (id BIGINT UNSIGNED PRIMARY KEY, {columns})",
        *(f"INSERT INTO {place}.t VALUES ({row})" for row in rows),
    )
    table = Table(server, place)
    text = table.text()
    assert text is not None
    found = table.session.query(f"SELECT HEX({text.sql}) AS found FROM {place}.t ORDER BY id")
    data = table.rows()
    own = [each.hex().upper() for some in text.of_rows(data) for each in some]
    assert own == [row["found"] for row in found]
    with duckdb.connect() as session:
        session.register("t", data)
        printed = session.execute(f"SELECT hex({text.duckdb}) FROM t").fetchall()
    assert own == [each for (each,) in printed]
    numbers = numbers_of(data["id"])
    ranges = KeyRanges.whole().divided([numbers], 5, 1).divided([numbers], 5, 1)
    middle = KeyRanges(np.sort(numbers), np.sort(numbers))
    for each in (KeyRanges.whole(), ranges, middle):
        sums = Checksums(len(each))
        sums.add(each.places(numbers), text.of_rows(data))
        with ServerChecksums(
            table.open,
            SourcePace(SnapshotSettings()),
            table.source.quoted_name,
            table.key(),
            text,
        ) as theirs:
            for places, future in theirs.begin(each, 5):
                some = future.result()
                assert some is not None
                assert some.rows.tolist() == sums.rows[places].tolist()
                assert some.xors.tolist() == sums.xors[places].tolist()
        assert sums.rows.sum() == len(rows)
    table.close()


def test_a_table_without_an_exact_text_is_not_summed(mysql: Source, schema: str) -> None:
    del schema
    place = f"test_{uuid.uuid4().hex[:12]}"
    mysql.execute(f"CREATE DATABASE {place}")
    for kind in INEXACT:
        mysql.execute(
            f"DROP TABLE IF EXISTS {place}.t",
            f"CREATE TABLE {place}.t (id INT PRIMARY KEY, c {kind})",
        )
        table = Table(mysql, place)
        assert table.text() is None, kind
        table.close()
    mysql.execute(f"DROP TABLE {place}.t", f"CREATE TABLE {place}.t (id INT PRIMARY KEY, c INT)")
    hidden = Table(mysql, place, [TableSettings(match=["*.*"], mask_columns=["c"])])
    assert hidden.text() is None
    hidden.close()
    mysql.execute(f"DROP DATABASE {place}")


def test_the_source_is_asked_to_sum_only_within_its_time_limit(mysql: Source, schema: str) -> None:
    del schema
    place = f"test_{uuid.uuid4().hex[:12]}"
    numbers = ", ".join(f"({number})" for number in range(1000))
    mysql.execute(
        f"CREATE DATABASE {place}",
        f"CREATE TABLE {place}.t (id INT PRIMARY KEY)",
        f"INSERT INTO {place}.t VALUES {numbers}",
    )
    table = Table(mysql, place)
    text = table.text()
    assert text is not None
    slow = RowText.of(table.session, table.source.schema, ["id"])
    assert slow is not None
    pace = SourcePace(SnapshotSettings(statement_seconds_max=0.001))
    name = f"(SELECT a.id FROM {place}.t a, {place}.t b, {place}.t c) d"
    with ServerChecksums(table.open, pace, name, table.key(), slow) as sums:
        ((_, future),) = sums.begin(KeyRanges.whole(), 5)
        assert future.result() is None
    table.close()
    mysql.execute(f"DROP DATABASE {place}")


def test_masked_rows_are_read_because_the_server_would_sum_what_they_hide(
    server: Source, place: str
) -> None:
    server.execute(
        f"CREATE TABLE {place}.t (id INT PRIMARY KEY, name VARCHAR(9), other INT)",
        f"INSERT INTO {place}.t VALUES (1, 'secret', 7)",
    )
    masked = [MaskSettings(columns=[f"{place}.t.name"], chars=3)]
    table = Table(server, place, masks=masked, exclude_columns=[f"{place}.t.other"])
    assert table.text() is None
    assert table.rows().to_pylist() == [{"id": 1, "name": "***"}]
    table.close()


def test_rows_that_are_too_long_for_a_text_have_no_equal_sums(server: Source, place: str) -> None:
    ((before,),) = server.execute("SELECT @@GLOBAL.max_allowed_packet")
    server.execute(
        f"CREATE TABLE {place}.t (id INT PRIMARY KEY, a MEDIUMTEXT, b MEDIUMTEXT)",
        f"INSERT INTO {place}.t VALUES (1, 'a', 'b'), (2, REPEAT('a', 700000), NULL)",
        f"UPDATE {place}.t SET b = a WHERE id = 2",
    )
    text = "CONCAT_WS(_binary',', a, b)"
    sums = f"SELECT BIT_XOR({sql_of_hash(text)}) AS total FROM {place}.t WHERE id = "
    try:
        server.execute("SET GLOBAL max_allowed_packet = 1048576")
        with SelectSession(
            server.settings(user=server.create_account("SELECT, REPLICATION CLIENT"))
        ) as session:
            short, long = ([session.query(f"{sums}{n}")[0]["total"] for _ in "12"] for n in (1, 2))
    finally:
        server.execute(f"SET GLOBAL max_allowed_packet = {before}")
    assert short[0] == short[1]
    assert long[0] != long[1]
