"""The comparison finds every way in which a mirror can differ from a table of the source."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from connector.lake.demo.verdict import TableComparison, compare_table
from local_stack import connect
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import MysqlServer

pytestmark = pytest.mark.server


CREATE = """
CREATE TABLE every_type (
  id BIGINT UNSIGNED PRIMARY KEY,
  i TINYINT, y YEAR, d DECIMAL(12,2), wide DECIMAL(50,2), f FLOAT, g DOUBLE, b1 BIT(1), b9 BIT(9),
  c VARCHAR(20), e ENUM('a','b'), s SET('x','y'), j JSON, bin BINARY(4), blb BLOB,
  day DATE, t TIME(3), dt DATETIME(6), ts TIMESTAMP(3), p POINT
)
"""


INSERT = """
INSERT INTO every_type VALUES (
  18446744073709551615, -128, 2155, -0.50, 123456789012345678901234567890123456789012345678.90,
  0.1, 1e-300, b'1', b'101010101', 'ü🌱', 'b', 'x,y', '{"b": 1, "a": [1.0]}', 0x0100, 0x00ff,
  '1000-01-01', '-838:59:58.500', '9999-12-31 23:59:59.999999', '2024-06-01 10:00:00.123',
  ST_GeomFromText('POINT(1 2)')
)
"""


POINT = bytes.fromhex("0101000000000000000000f03f0000000000000040")


MIRRORED: dict[str, tuple[pa.DataType, Any]] = {
    "id": (pa.decimal128(20, 0), Decimal(2**64 - 1)),
    "i": (pa.int8(), -128),
    "y": (pa.int16(), 2155),
    "d": (pa.decimal128(12, 2), Decimal("-0.50")),
    "wide": (pa.string(), "123456789012345678901234567890123456789012345678.90"),
    "f": (pa.float32(), 0.1),
    "g": (pa.float64(), 1e-300),
    "b1": (pa.bool_(), True),
    "b9": (pa.decimal128(20, 0), Decimal(0b101010101)),
    "c": (pa.string(), "ü🌱"),
    "e": (pa.string(), "b"),
    "s": (pa.string(), "x,y"),
    "j": (pa.string(), '{"a": [1.0], "b": 1}'),
    "bin": (pa.binary(), b"\x01\x00\x00\x00"),
    "blb": (pa.binary(), b"\x00\xff"),
    "day": (pa.date32(), date(1000, 1, 1)),
    "t": (pa.string(), "-838:59:58.500"),
    "dt": (pa.timestamp("us"), datetime(9999, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001 - DATETIME has none
    "ts": (pa.timestamp("us", "UTC"), datetime(2024, 6, 1, 10, 0, 0, 123000, UTC)),
    "p": (
        pa.struct([("wkb", pa.binary()), ("srid", pa.int64())]),
        {"wkb": POINT, "srid": 0},
    ),
    "_cdc_hi": (pa.int64(), 1),
    "_cdc_lo": (pa.int64(), 2),
}


def mirror_of(path: Path, **values: tuple[pa.DataType, Any]) -> Path:
    """Write a Delta table of one row."""
    columns = {name: pa.array([value], kind) for name, (kind, value) in values.items()}
    write_deltalake(path, pa.table(columns))
    return path


@pytest.fixture
def every_type(mysql_server: MysqlServer, database: str) -> str:
    """Name a database whose table has one row, and a column of every family."""
    with connect(mysql_server.endpoint, database) as connection, connection.cursor() as cursor:
        # The comparison must not care for the time zone of anyone else.
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(CREATE)
        cursor.execute(INSERT)
    return database


def compare(server: MysqlServer, database: str, mirror: Path) -> TableComparison:
    return compare_table(server.endpoint, database, "every_type", mirror)


def test_values_of_every_type_are_equal_to_what_the_mirror_holds(
    mysql_server: MysqlServer, every_type: str, tmp_path: Path
) -> None:
    comparison = compare(mysql_server, every_type, mirror_of(tmp_path / "mirror", **MIRRORED))
    assert comparison == TableComparison(f"{every_type}.every_type", 1, 1, (), 0, ())
    assert comparison.equal


CHANGED: dict[str, tuple[pa.DataType, Any]] = {
    "i": (pa.int8(), 127),
    "y": (pa.int16(), 1900),
    "d": (pa.decimal128(12, 2), Decimal("0.50")),
    "wide": (pa.string(), "123456789012345678901234567890123456789012345678.91"),
    "f": (pa.float64(), 0.1),
    "g": (pa.float64(), 1.0000000000000002e-300),
    "b1": (pa.bool_(), False),
    "b9": (pa.decimal128(20, 0), Decimal(1)),
    "c": (pa.string(), "Ü🌱"),
    "e": (pa.string(), '{"index": 0}'),
    "s": (pa.string(), ""),
    "j": (pa.string(), '{"b": 1, "a": [1.0]}'),
    "bin": (pa.binary(), b"\x01"),
    "blb": (pa.binary(), None),
    "day": (pa.date32(), date(1000, 1, 2)),
    "t": (pa.string(), "-838:59:58.501"),
    "dt": (pa.timestamp("us"), datetime(9999, 12, 31, 23, 59, 59, 999998)),  # noqa: DTZ001 - DATETIME has none
    "ts": (pa.timestamp("us", "UTC"), datetime(2024, 6, 1, 11, 0, 0, 123000, UTC)),
    "p": (
        pa.struct([("wkb", pa.binary()), ("srid", pa.int64())]),
        {"wkb": POINT, "srid": 4326},
    ),
}


def test_another_value_of_any_type_is_found(
    mysql_server: MysqlServer, every_type: str, tmp_path: Path
) -> None:
    for name, changed in CHANGED.items():
        mirror = mirror_of(tmp_path / name, **(MIRRORED | {name: changed}))
        comparison = compare(mysql_server, every_type, mirror)
        assert [str(each) for each in comparison.differences] == [
            f"(18446744073709551615) differs in {name}"
        ]
        assert not comparison.equal


def test_missing_and_additional_columns_are_named(
    mysql_server: MysqlServer, every_type: str, tmp_path: Path
) -> None:
    columns = {name: column for name, column in MIRRORED.items() if name != "ts"}
    mirror = mirror_of(tmp_path / "mirror", **columns, stamp=(pa.int8(), 1))
    comparison = compare(mysql_server, every_type, mirror)
    assert not comparison.equal
    assert comparison.column_problems == (
        "column ts is missing from the mirror",
        "column stamp is in the mirror alone",
    )


def test_all_differences_are_counted_and_the_first_are_told(
    mysql_server: MysqlServer, every_type: str, tmp_path: Path
) -> None:
    with connect(mysql_server.endpoint, every_type) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO every_type (id) VALUES (1), (2), (3), (4), (5), (6)")
    mirror = mirror_of(tmp_path / "mirror", **MIRRORED)
    comparison = compare(mysql_server, every_type, mirror)
    assert (comparison.source_rows, comparison.mirror_rows, comparison.difference_count) == (
        7,
        1,
        6,
    )
    assert [str(each) for each in comparison.differences] == [
        f"({key}) is missing from the mirror" for key in range(1, 6)
    ]


def test_rows_without_a_mirror_are_a_difference_and_an_empty_table_is_none(
    mysql_server: MysqlServer, every_type: str, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    assert compare(mysql_server, every_type, nowhere).column_problems == ("there is no mirror",)
    with connect(mysql_server.endpoint, every_type) as connection, connection.cursor() as cursor:
        cursor.execute("DELETE FROM every_type")
    assert compare(mysql_server, every_type, nowhere).equal


def test_a_table_without_a_primary_key_is_refused(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    with connect(mysql_server.endpoint, database) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE keyless (a INT)")
    with pytest.raises(LocalStackError) as caught:
        compare_table(mysql_server.endpoint, database, "keyless", tmp_path)
    assert caught.value.text == (
        f"{database}.keyless does not exist or has no primary key; compare a table that has one; "
        "no mirror is kept of others"
    )
