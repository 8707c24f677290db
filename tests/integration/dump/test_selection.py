"""What stays with a selected change, if the logs of the shop do not show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from local_stack import connect
from tests.logs.dump.command import dump, dumped_json

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import MariadbServer, MysqlServer

pytestmark = pytest.mark.server


def record(
    server: MysqlServer | MariadbServer, database: str, folder: Path, *statements: str
) -> Path:
    """Return a copy of the log that the statements alone have written."""
    with connect(server.endpoint, database) as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SHOW MASTER STATUS")
        row = cursor.fetchone()
        assert row is not None
        for statement in statements:
            cursor.execute(statement)
        cursor.execute("FLUSH BINARY LOGS")
    copy: Path = folder / row[0]
    copy.write_bytes((server.directory / "data" / row[0]).read_bytes())
    return copy


CREATE = ("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT)", "CREATE TABLE b (id INT)")


def inner_of(done: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [inner["type"] for inner in event["body"]["events"]]
        for event in done
        if event["type"] == "TRANSACTION_PAYLOAD_EVENT"
    ]


def test_of_a_compressed_transaction_the_selected_events_are_shown(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    log = record(
        mysql_server, database, tmp_path, *CREATE,
        "SET SESSION binlog_transaction_compression = ON",
        "BEGIN", "INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1)", "COMMIT",
        "INSERT INTO b VALUES (2)",
    )  # fmt: skip
    both = ["TABLE_MAP_EVENT", "WRITE_ROWS_EVENT"]
    everything = dumped_json(log).objects
    assert inner_of(everything) == [
        ["QUERY_EVENT", *both, *both, "XID_EVENT"], ["QUERY_EVENT", *both, "XID_EVENT"]
    ]  # fmt: skip
    of_a = dumped_json("--table", f"{database}.a", log)
    assert inner_of(of_a.objects) == [["QUERY_EVENT", *both, "XID_EVENT"]]
    # Of the two transactions one has left no trace; the other GTIDs are those of CREATE.
    assert of_a.types.count("GTID_LOG_EVENT") == 2
    rows = dumped_json("--type", "WRITE_ROWS", log)
    assert inner_of(rows.objects) == [["WRITE_ROWS_EVENT"] * 2, ["WRITE_ROWS_EVENT"]]
    assert set(rows.types) == {"TRANSACTION_PAYLOAD_EVENT"}
    whole = dumped_json("--type", "TRANSACTION_PAYLOAD", log)
    assert inner_of(whole.objects) == inner_of(everything)
    text = dump("--table", f"{database}.a", log).output
    assert "INSERT INTO `" in text
    assert f"`{database}`.`b`" not in text


def test_statements_are_selected_with_what_stands_before_them(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    log = record(
        mysql_server, database, tmp_path, *CREATE,
        "SET SESSION binlog_format = 'STATEMENT'",
        "SET @x = 7",
        "INSERT INTO a VALUES (NULL)",
        "INSERT INTO b VALUES (@x)",
        f"INSERT INTO {database}.b VALUES (RAND() * 100)",
        "TRUNCATE TABLE b",
        "DROP TABLE a",
    )  # fmt: skip
    steps = {"INTVAR_EVENT", "USER_VAR_EVENT", "RAND_EVENT"}
    here = dumped_json("--database", database, log)
    assert here.objects == dumped_json(log).objects
    assert steps <= set(here.types)
    # The text of INSERT is not read; CREATE, TRUNCATE and DROP name their tables.
    of_a = [e["body"]["query"] for e in dumped_json("--table", f"{database}.a", log).objects
            if e["type"] == "QUERY_EVENT"]  # fmt: skip
    assert of_a[0].startswith("CREATE TABLE a ")
    assert not any(query.startswith(("CREATE TABLE b", "TRUNCATE")) for query in of_a)
    assert of_a[-1].startswith("DROP TABLE `a`")
    elsewhere = dumped_json("--database", "elsewhere", log)
    assert not (steps | {"QUERY_EVENT", "GTID_LOG_EVENT"}) & set(elsewhere.types)


def test_partial_updates_become_documents_where_that_is_asked_for(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    log = record(
        mysql_server, database, tmp_path,
        "CREATE TABLE j (id INT PRIMARY KEY, d JSON)",
        """INSERT INTO j VALUES (1, '{"a": 1, "b": [1, 2]}')""",
        "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'",
        "UPDATE j SET d = JSON_SET(d, '$.a', 7)",
    )  # fmt: skip
    wish = ("--type", "PARTIAL_UPDATE_ROWS")
    ((partial,), (applied,)) = (
        [event["body"]["rows"][0]["after"][1] for event in dumped_json(*wish, *more, log).objects]
        for more in ((), ("--apply-diffs",))
    )
    assert partial == {"json_diff": [{"op": "replace", "path": "$.a", "value": "7"}]}
    assert applied == '{"a": 7, "b": [1, 2]}'


def test_savepoints_are_shown_inside_of_selected_transactions(
    mariadb_server: MariadbServer, mariadb_database: str, tmp_path: Path
) -> None:
    log = record(
        mariadb_server, mariadb_database, tmp_path, *CREATE,
        "BEGIN", "INSERT INTO a VALUES (1)", "SAVEPOINT s", "INSERT INTO b VALUES (1)", "COMMIT",
        "BEGIN", "INSERT INTO b VALUES (2)", "SAVEPOINT t", "INSERT INTO b VALUES (3)", "COMMIT",
    )  # fmt: skip
    chosen = dumped_json("--table", f"{mariadb_database}.a", log).objects
    queries = [e["body"]["query"] for e in chosen if e["type"] == "QUERY_EVENT"]
    assert [query for query in queries if "SAVEPOINT" in query] == ["SAVEPOINT `s`"]
