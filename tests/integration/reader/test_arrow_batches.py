"""Batches of Arrow have the values that the server selects."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from connector.binlog.log_errors import EventError
from connector.reader import open_server
from local_stack import connect

if TYPE_CHECKING:
    from local_stack import MariadbServer, MysqlServer

pytestmark = pytest.mark.server


# The type in SQL and in Arrow, and literals of it.
TYPES: list[tuple[str, pa.DataType, list[str]]] = [
    ("TINYINT", pa.int8(), ["-128", "127"]),
    ("TINYINT UNSIGNED", pa.uint8(), ["0", "255"]),
    ("SMALLINT", pa.int16(), ["-32768", "32767"]),
    ("MEDIUMINT", pa.int32(), ["-8388608", "8388607"]),
    ("MEDIUMINT UNSIGNED", pa.uint32(), ["16777215"]),
    ("INT", pa.int32(), ["-2147483648", "2147483647"]),
    ("BIGINT", pa.int64(), ["-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", pa.uint64(), ["18446744073709551615"]),
    ("YEAR", pa.uint16(), ["0", "1901", "2155"]),
    ("DECIMAL(38,10)", pa.decimal128(38, 10), ["-1.5", "1234567890123456789012345678.9"]),
    ("DECIMAL(65,30)", pa.decimal256(65, 30), ["-1e-30", "99999999999999999999999999999999999.9"]),
    ("DECIMAL(5,0)", pa.decimal128(5, 0), ["-99999"]),
    ("FLOAT", pa.float32(), ["0.5", "-1024.25"]),
    ("DOUBLE", pa.float64(), ["0.1", "-1.7976931348623157e308"]),
    ("CHAR(5)", pa.string(), ["'a'", "''"]),
    ("VARCHAR(20) CHARACTER SET latin1", pa.string(), ["'ÿ€'"]),
    ("TEXT", pa.large_string(), ["'日本'", "''"]),
    ("ENUM('a','ß')", pa.string(), ["'a'", "'ß'"]),
    ("SET('a','b')", pa.string(), ["'a,b'", "''"]),
    ("BINARY(3)", pa.binary(), ["'a'"]),
    ("VARBINARY(3)", pa.binary(), ["X'00FF'"]),
    ("BLOB", pa.large_binary(), ["X'00FF'", "''"]),
    ("DATE", pa.date32(), ["'0001-01-01'", "'9999-12-31'"]),
    ("DATETIME", pa.timestamp("us"), ["'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'"]),
    ("DATETIME(3)", pa.timestamp("us"), ["'2026-01-02 03:04:05.678'"]),
    ("TIMESTAMP(6)", pa.timestamp("us", tz="UTC"), ["'2026-01-02 03:04:05.678901'"]),
    ("TIME(6)", pa.duration("us"), ["'-838:59:58.000001'", "'838:59:59'", "'-00:00:00.5'"]),
]


@pytest.mark.parametrize("product", ["mysql", "mariadb"])
def test_every_type_has_the_values_that_the_server_selects(
    product: str, request: pytest.FixtureRequest
) -> None:
    server: MysqlServer | MariadbServer = request.getfixturevalue(f"{product}_server")
    suffix = "database" if product == "mysql" else "mariadb_database"
    database: str = request.getfixturevalue(suffix)
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _, _) in enumerate(TYPES))
    endpoint = server.endpoint
    with connect(endpoint) as connection, connection.cursor() as cursor:
        # Earlier files may hold rows of other tests that cannot be read at all.
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SHOW BINARY LOGS")
        file = cursor.fetchall()[-1][0]
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY, {columns})")
        for row in range(4):
            values = [literals[row] if row < len(literals) else "NULL" for _, _, literals in TYPES]
            cursor.execute(f"INSERT INTO {database}.t VALUES ({row}, {', '.join(values)})")
        cursor.execute(f"SELECT * FROM {database}.t ORDER BY id")
        selected = cursor.fetchall()
    url = f"mysql://{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}/"
    with open_server(url, start=f"position:{file}:4", stop_at_end=True) as log:
        (found,) = log.to_arrow([f"{database}.t"])
    assert found.batch.schema.types[9:] == [kind for _, kind, _ in TYPES]
    for row, expected in zip(found.batch.to_pylist(), selected, strict=True):
        assert [row[name] for name in list(row)[8:]] == list(
            map(as_arrow, expected, [None, *TYPES])
        )


def as_arrow(value: Any, column: tuple[str, pa.DataType, list[str]] | None) -> Any:
    """What the driver gives, as pyarrow does."""
    if value is not None and column is not None and column[0].startswith("TIMESTAMP"):
        return value.replace(tzinfo=UTC)
    return value


def test_what_arrow_cannot_hold_is_refused_or_comes_as_text(
    mysql_server: MysqlServer, database: str
) -> None:
    endpoint = mysql_server.endpoint
    url = f"mysql://{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}/"
    # A computed number has more digits than a column of DECIMAL.
    document = f"[{'9' * 35}.{'9' * 30}]"
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        cursor.execute(
            f"CREATE TABLE {database}.t "
            "(d DATE, dt DATETIME(2), ts TIMESTAMP NULL, g POINT, j JSON)"
        )
        cursor.execute(
            f"INSERT INTO {database}.t VALUES ('2026-00-00', '0000-00-00', '0000-00-00', "
            f"ST_GeomFromText('POINT(1 2)', 4326), JSON_ARRAY({document[1:-1]}))"
        )
    with (
        open_server(url, stop_at_end=True) as log,
        pytest.raises(
            EventError, match=r"column d: Arrow has no date 2026-00-00; ask for dates as text"
        ),
    ):
        list(log.to_arrow([f"{database}.*"]))
    with open_server(url, stop_at_end=True) as log:
        (found,) = log.to_arrow([f"{database}.*"], dates_as_text=True)
    (row,) = found.batch.select(["d", "dt", "ts", "g", "j"]).to_pylist()
    point = row.pop("g")
    assert row == {
        "d": "2026-00-00",
        "dt": "0000-00-00 00:00:00.00",
        "ts": "0000-00-00 00:00:00",
        "j": document,
    }
    assert (point["srid"], point["wkb"][:5]) == (4326, b"\1\1\0\0\0")
