"""What stays with a selected change, where the logs of the shop do not show it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from connector.changes.table_filter import TableFilter
from connector.dump import progress
from connector.dump.progress import ReadingProgress
from connector.dump.selection import Selection, SelectionOptions
from connector.gtid import GtidSet
from connector.reader import open_binlog
from local_stack import connect
from tests.dump.command import dump, dumped_json

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import MariadbServer, MysqlServer


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


@pytest.mark.server
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


@pytest.mark.server
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


@pytest.mark.server
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


@pytest.mark.server
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


def test_a_log_without_gtids_is_in_no_set(shared_binlogs: Path) -> None:
    log = shared_binlogs / "recorded" / "ver_5_1_23.001"
    some = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-9"
    assert dumped_json("--include-gtids", some, log).types == [
        "FORMAT_DESCRIPTION_EVENT", "STOP_EVENT"
    ]  # fmt: skip
    assert dumped_json("--exclude-gtids", some, log).objects == dumped_json(log).objects


def test_loads_of_old_logs_are_selected_by_their_table(shared_binlogs: Path) -> None:
    log = shared_binlogs / "recorded" / "binlog_old_version_4_1.000001"
    everything = dumped_json(log)
    loads = {"CREATE_FILE_EVENT", "NEW_LOAD_EVENT", "LOAD_EVENT"} & set(everything.types)
    assert loads
    assert loads <= set(dumped_json("--database", "test", log).types)
    assert not loads & set(dumped_json("--table", "test.other", log).types)


def test_a_tagged_transaction_is_in_a_tagged_set(shared_binlogs: Path) -> None:
    log = shared_binlogs / "recorded" / "binlog_transaction_with_GTID_TAG.000001"
    with open_binlog(log) as reader:
        (gtid,) = (str(t.gtid) for t in reader.transactions() if str(t.gtid).count(":") == 2)
    chosen = dumped_json("--include-gtids", gtid, log).objects
    (found,) = (e for e in chosen if e["type"] == "GTID_TAGGED_LOG_EVENT")
    assert found["body"]["gtid"] == gtid
    assert chosen[-2]["type"] == "XID_EVENT"
    untagged = gtid.split(":")[0] + ":1-99"
    assert found not in dumped_json("--include-gtids", untagged, log).objects


def test_a_selection_ends_at_its_stop_time(shared_binlogs: Path) -> None:
    log = shared_binlogs / "seed" / "mysql-bin.000005"
    done = dumped_json("--stop-datetime", "2019-01-03T10:58:14", log)
    assert done.types == ["FORMAT_DESCRIPTION_EVENT", "PREVIOUS_GTIDS_LOG_EVENT"]
    zoned = dumped_json("--stop-datetime", "2019-01-03T11:58:14+01:00", log)
    assert zoned.objects == done.objects


def test_an_unasked_selection_is_the_log(shared_binlogs: Path) -> None:
    for path in sorted((shared_binlogs / "recorded").iterdir()):
        if "truncated" in path.name:
            continue
        with open_binlog(path) as log:
            events = list(log)
        everything = Selection(SelectionOptions())
        chosen = [each for event in events for each in everything.select(event)]
        assert chosen == events, path.name
        tables = Selection(SelectionOptions(tables=TableFilter(["*.*", "mysql.*"])))
        by_table = [each for event in events for each in tables.select(event)]
        assert by_table == events, path.name
        none = Selection(SelectionOptions(exclude_gtids=GtidSet()))
        assert [each for event in events for each in none.select(event)] == events, path.name


def test_a_long_dump_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    with ReadingProgress(console) as shown:
        shown.show("binlog.000001", 100, 1000)
    assert screen.getvalue() == ""
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    with ReadingProgress(console) as shown:
        shown.show("binlog.000001", 100, 1000)
        shown.show("binlog.000001", 500, 1000)
    assert "binlog.000001" in screen.getvalue()
