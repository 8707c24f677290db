"""What MEMORY, MERGE and BLACKHOLE leave in the log in row format, as the server shows it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from connector.stream.source.row_logging import engine_gap
from tests.integration.source_server import source_of
from tests.length import FULL
from tests.rules.server_versions import server_version

if TYPE_CHECKING:
    from connector.foundation.server_version import ServerVersion
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

SERVERS = ["mysql_5_7", "mysql_8_0_15", "mysql_server", "mysql_9", "mariadb_10_5"]
SERVERS += ["mariadb_10_11", "mariadb_server"]


def version_of(source: Source) -> ServerVersion:
    ((text,),) = source.execute("SELECT VERSION()")
    return server_version(text)


def logged(source: Source, *statements: str) -> list[str]:
    """Return the texts and rows that the statements add to the log."""
    source.execute("FLUSH BINARY LOGS")
    source.execute(*statements)
    file = source.execute("SHOW BINARY LOGS")[-1][0]
    events = source.execute(f"SHOW BINLOG EVENTS IN '{file}'")
    kinds = ("Query", "Write_rows", "Update_rows", "Delete_rows", "Table_map")
    found = [(row[2], str(row[-1])) for row in events if row[2].removesuffix("_v1") in kinds]
    return [
        text.partition(" /*")[0] if kind == "Query" else f"{kind.removesuffix('_v1')} {text}"
        for kind, text in found
        if text not in ("BEGIN", "COMMIT")
    ]


@pytest.mark.skipif(not FULL, reason="restarts seven servers: `make test-all`")
@pytest.mark.parametrize("server", SERVERS)
def test_a_restart_empties_memory_tables_with_a_text_that_old_servers_call_a_delete(
    request: pytest.FixtureRequest, server: str
) -> None:
    running = request.getfixturevalue(server)
    source = source_of(running)
    database = f"memory_{uuid.uuid4().hex[:8]}"
    source.execute(
        f"CREATE DATABASE {database}",
        f"CREATE TABLE {database}.m (id INT PRIMARY KEY) ENGINE=MEMORY",
        f"INSERT INTO {database}.m VALUES (1)",
    )
    running.restart()
    texts = logged(source, f"SELECT * FROM {database}.m")
    # Where `check` is silent, the stream can follow what the server logs.
    verb = "TRUNCATE TABLE" if engine_gap("MEMORY", version_of(source)) is None else "DELETE FROM"
    assert texts == [f"{verb} `{database}`.`m`"]
    source.execute(f"DROP DATABASE {database}")


def test_rows_of_a_union_are_logged_under_the_name_that_the_statement_uses(
    source: Source, schema: str
) -> None:
    columns = "(id INT NOT NULL, KEY (id))"
    source.execute(
        f"CREATE TABLE {schema}.part {columns} ENGINE=MyISAM",
        f"CREATE TABLE {schema}.whole {columns} ENGINE=MERGE UNION=({schema}.part) "
        "INSERT_METHOD=LAST",
    )
    found = logged(source, f"INSERT INTO {schema}.whole VALUES (1)")
    maps = [text for text in found if text.startswith("Table_map")]
    rows = [text.split()[2] for text in found if text.startswith("Write_rows")]
    ((number, name),) = [
        (text.split()[2], text.rpartition(" ")[2]) for text in maps if text.split()[2] in rows
    ]
    assert (rows, name) == ([number], f"({schema}.whole)")


def test_a_table_that_keeps_no_rows_has_those_of_inserts_alone(mysql: Source) -> None:
    mysql.execute(
        "CREATE DATABASE hole_alone",
        "CREATE TABLE hole_alone.t (id INT PRIMARY KEY, v INT) ENGINE=BLACKHOLE",
    )
    found = logged(
        mysql,
        "INSERT INTO hole_alone.t VALUES (1, 1)",
        "UPDATE hole_alone.t SET v = 2 WHERE id = 1",
        "DELETE FROM hole_alone.t",
    )
    mysql.execute("DROP DATABASE hole_alone")
    assert [text.split()[0] for text in found] == ["Table_map", "Write_rows"]
