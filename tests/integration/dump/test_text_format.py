"""`dump --format text`, compared with the servers' own mysqlbinlog."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
import pytest

from local_stack import MysqlServer, connect
from tests.integration.dump.mysqlbinlog import mysqlbinlog
from tests.logs.dump.text.printed import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import MariadbServer

pytestmark = pytest.mark.server


def members(count: int) -> str:
    """Return a SET with as many members."""
    return f"SET({', '.join(map(repr, map(str, range(count))))})"


SCRIPT = [
    "CREATE DATABASE zoo",
    "USE zoo",
    (
        "CREATE TABLE a (i INT PRIMARY KEY, d DECIMAL(10,2), e DOUBLE, t DATETIME(3), "
        "u TIMESTAMP(6) NULL, v TIME(2), c CHAR(200) CHARACTER SET utf8mb4, w VARCHAR(300), "
        "b BIT(9), x TEXT, j JSON)"
    ),
    (
        "INSERT INTO a VALUES "
        "(1, -1.5, 1.5, '2020-02-03 04:05:06.123', '2020-02-03 04:05:06.123456', "
        r"'-00:00:00.01', 'é', 'it''s \\ \n', 257, 'x', '{\"a\": [1, \"b\"]}'), "
        "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    ),
    "UPDATE a SET w = 'new' WHERE i = 1",
    "SET binlog_row_image = MINIMAL",
    "UPDATE a SET w = 'newer' WHERE i = 1",
    "DELETE FROM a WHERE i = 2",
    "SET binlog_row_image = FULL",
    "SET binlog_row_value_options = PARTIAL_JSON",
    "UPDATE a SET j = JSON_SET(j, '$.a[0]', 2) WHERE i = 1",
    "SET binlog_row_value_options = ''",
    "SET binlog_rows_query_log_events = ON",
    "INSERT INTO a (i) VALUES\n(3)",
    "SET binlog_rows_query_log_events = OFF",
    "BEGIN",
    "INSERT INTO a (i) VALUES (4)",
    "SAVEPOINT s",
    "INSERT INTO a (i) VALUES (5)",
    "COMMIT",
    "SET foreign_key_checks = 0",
    "SET time_zone = '+02:00'",
    "INSERT INTO a (i, u) VALUES (6, NOW())",
    "SET sql_mode = 'ANSI_QUOTES'",
    'CREATE TABLE "b" (i INT)',
    "SET NAMES latin1",
    "CREATE DEFINER = CURRENT_USER PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
    "SET auto_increment_increment = 3",
    "DROP PROCEDURE p",
    "SET binlog_transaction_compression = ON",
    "INSERT INTO a (i) VALUES (7)",
    "SET binlog_transaction_compression = OFF",
    "SET gtid_next = 'AUTOMATIC:tag'",
    "INSERT INTO a (i) VALUES (8)",
    "SET gtid_next = AUTOMATIC",
    "XA START 'x'",
    "INSERT INTO a (i) VALUES (9)",
    "XA END 'x'",
    "XA PREPARE 'x'",
    "XA COMMIT 'x'",
    "SET binlog_format = STATEMENT",
    "SET TIMESTAMP = 1500000000.5",
    "INSERT INTO b SELECT 1",
    f"CREATE TABLE c (a {members(3)}, b {members(8)}, c {members(9)}, d {members(64)})",
    "SET binlog_format = ROW",
    "INSERT INTO c VALUES (5, 130, 257, 1 << 63 | 1 << 40 | 1 << 17 | 3)",
    "FLUSH LOGS",
]


# What frames the output, and what mysqlbinlog 9.7 adds that the log does not hold.
FRAME = re.compile(
    r"# The proper term|# to make the statement|/\*!505?[03].*(PSEUDO_SLAVE_MODE|COMPLETION_TYPE)"
    r"|DELIMITER|# has_generated_invisible|# End of log file|.*added by mysqlbinlog"
)


def of_mysqlbinlog(server: MysqlServer, file: Path) -> list[str]:
    """Return what the server's own mysqlbinlog prints."""
    lines = mysqlbinlog(server, file)
    return list(without_positions_inside(line for line in lines if not FRAME.match(line)))


def without_positions_inside(lines: Iterator[str]) -> Iterator[str]:
    """Take positions and checksums off the events of payloads, which are the payload's own."""
    inside = False
    for line in lines:
        if line.startswith("# Start of compressed"):
            inside = True
        elif line.startswith("# End of compressed"):
            inside = False
        elif inside and line.startswith("# at "):
            continue
        elif inside:
            yield re.sub(r"end_log_pos \d+ CRC32 0x\w+ ", "end_log_pos 0 ", line)
            continue
        yield line


def test_a_log_reads_as_with_the_servers_mysqlbinlog(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings: dict[str, Any] = {"binlog_row_metadata": "MINIMAL"}
    folder = tmp_path_factory.mktemp("text")
    with MysqlServer(folder, version="9", settings=settings) as server:
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            for statement in SCRIPT:
                cursor.execute(statement)
            cursor.execute("SELECT @@log_bin_basename")
            ((base,),) = cursor.fetchall()
        file = Path(f"{base}.000001")
        expected = of_mysqlbinlog(server, file)
        assert lines_of(file) == expected


# What mariadb-binlog 11.8 prints of the groups of ALTER TABLE.
TWO_PHASES = """\
GTID N-N-N ddl START ALTER thread_id=N
### ALTER TABLE t ADD COLUMN b INT DEFAULT 1, ALGORITHM=COPY
GTID N-N-N ddl COMMIT ALTER id= N thread_id=N
### ALTER TABLE t ADD COLUMN b INT DEFAULT 1, ALGORITHM=COPY
GTID N-N-N ddl START ALTER thread_id=N
### ALTER TABLE t ADD UNIQUE (b), ALGORITHM=COPY
GTID N-N-N ddl ROLLBACK ALTER id= N thread_id=N
### ALTER TABLE t ADD UNIQUE (b), ALGORITHM=COPY
GTID N-N-N ddl thread_id=N
ALTER TABLE t ADD COLUMN c INT
"""


def test_alter_table_in_two_phases_reads_as_with_mariadb_binlog(
    mariadb_server: MariadbServer, mariadb_database: str
) -> None:
    with (
        connect(mariadb_server.endpoint, mariadb_database) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        cursor.execute("INSERT INTO t VALUES (1), (2)")
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SELECT @@log_bin_basename")
        ((base,),) = cursor.fetchall()
        cursor.execute("SHOW MASTER STATUS")
        ((name, *_),) = cursor.fetchall()
        cursor.execute("SET binlog_alter_two_phase = ON")
        cursor.execute("ALTER TABLE t ADD COLUMN b INT DEFAULT 1, ALGORITHM=COPY")
        with pytest.raises(pymysql.err.IntegrityError):
            cursor.execute("ALTER TABLE t ADD UNIQUE (b), ALGORITHM=COPY")
        cursor.execute("SET binlog_alter_two_phase = OFF")
        cursor.execute("ALTER TABLE t ADD COLUMN c INT")
    lines = lines_of(Path(base).with_name(name))
    shown = [
        re.sub(r"(GTID|[-=]) ?\d+", lambda match: re.sub(r"\d+", "N", match[0]), group[1])
        for line in lines
        if (group := re.search(r"((GTID|(### )?ALTER) .*)", line)) and "Gtid list" not in line
    ]
    assert shown == TWO_PHASES.splitlines()
