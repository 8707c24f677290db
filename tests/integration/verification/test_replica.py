"""`verify --replica`: what differs at the replica is found, and nothing else."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until_settled
from tests.integration.operation.test_metrics import free_port
from tests.integration.verification.replica_pair import replica_pair_of
from tests.integration.verification.test_forever import Verification, settings
from tests.integration.verification.test_types import (
    EMPTY,
    KEYS,
    TYPES,
    changed_columns,
    fill_every,
    see_every_equal,
)
from tests.integration.verification.test_verify import write
from tests.length import FULL, full_only
from verification import verify_errors

if TYPE_CHECKING:
    from local_stack import Server
    from tests.integration.database_stream import Stream
    from tests.integration.verification.replica_pair import ReplicaPair

pytestmark = [pytest.mark.kafka, pytest.mark.server]

# For each type of `TYPES`, the nearest other value.
NEAR = (
    "-127", "255", "0", "16777215", "4294967295", "9223372036854775807", "18446744073709551615",
    "-12345678901234567890.1235", "12345678901234567890.500000000000000000000000000001",
    "0.10000001", "-5e-324", "b'0'", "18446744073709551615", "'a c'", "'Grüße £'", "'日木'",
    "'🐬 \\\\ \" \\r'", "'small'", "'a,b'", "X'00FF01'", "X'00FF0B'", "X'7B0A01'", "'1000-01-02'",
    "'9999-12-31 23:59:59.999999'", "'1582-10-10 00:00:01'", "'2038-01-19 03:14:06.998'",
    "'-838:59:58.999998'", "2153", """'{"b": [1.5, null], "a": "é"}'""",
    "ST_GeomFromText('POINT(1 3)')",
)  # fmt: skip


@pytest.fixture(params=["other", *(["same"] if FULL else [])])
def server(request: pytest.FixtureRequest, either_stream: Stream) -> Server:
    """A server for the replica: of the product of the source, or of the other one."""
    both: list[Server] = [
        request.getfixturevalue(f"{name}_server") for name in ("mysql", "mariadb")
    ]
    same, other = sorted(both, key=lambda each: each.endpoint != either_stream.source)
    return same if request.param == "same" else other


@pytest.fixture(params=["stream", *(["mariadb_stream"] if FULL else [])])
def source(request: pytest.FixtureRequest) -> Stream:
    """A source whose replica is at MySQL."""
    found: Stream = request.getfixturevalue(request.param)
    return found


def test_each_value_that_is_one_step_off_is_found_and_no_other(
    either_stream: Stream, server: Server
) -> None:
    stream, count = either_stream, len(TYPES)
    total = fill_every(stream)
    with replica_pair_of(stream, server.endpoint) as pair:
        see_every_equal(pair, total)
        pair.sql(
            *(
                f"UPDATE every SET c{place} = {literal} WHERE id = {place}"
                for place, literal in enumerate(NEAR)
            ),
            *(f"UPDATE every SET c{n} = NULL WHERE id = {count + n}" for n in range(count)),
            *(
                f"UPDATE every SET {name} = NULL WHERE id = {800 + place}"
                for place, name in enumerate(EMPTY)
            ),
        )
        found = pair.differences()
    changed = {each["key"]["id"]: list(each["source"]) for each in found}
    assert changed == changed_columns()
    assert {each["kind"] for each in found} == {"different"}


@pytest.mark.skipif(not FULL, reason="many tables")
def test_a_row_is_found_by_a_key_of_each_type(either_stream: Stream, server: Server) -> None:
    stream = either_stream
    stream.execute("SET NAMES utf8mb4")
    for number, (kind, literal) in enumerate(KEYS.items()):
        stream.execute(
            f"CREATE TABLE k{number:02} (k {kind} NOT NULL PRIMARY KEY, v INT)",
            f"INSERT INTO k{number:02} VALUES ({literal}, 1)",
        )
    with replica_pair_of(stream, server.endpoint) as pair:
        pair.catch_up(len(KEYS))
        pair.sql(*(f"UPDATE k{number:02} SET v = 2" for number in range(len(KEYS))))
        code, report = pair.report()
    found = [[each["kind"] for each in table["differences"]] for table in report["tables"]]
    assert (code, found) == (4, [["different"]] * len(KEYS))


def loading(stream: Stream, ended: threading.Event) -> threading.Thread:
    """Change rows below 2000 all the time."""
    thread = threading.Thread(target=lambda: [None for _ in write(stream, ended)])
    thread.start()
    return thread


def break_rows(pair: ReplicaPair) -> dict[int, str]:
    """Break rows that the load does not touch; return the kinds of the differences."""
    pair.sql(
        "DELETE FROM t WHERE id = 2001",
        # Stale, one digit off, NULL for an empty text, resurrected, never there.
        "UPDATE t SET v = 0 WHERE id = 2002",
        "UPDATE t SET v = v + 1 WHERE id = 2003",
        "UPDATE t SET w = NULL WHERE id = 2004",
        "INSERT INTO t VALUES (2005, 0, 'x')",
        "INSERT INTO t VALUES (9999, 0, 'x')",
    )
    kinds = {2001: "missing", 2005: "surplus", 9999: "surplus"}
    return kinds | dict.fromkeys((2002, 2003, 2004), "different")


@full_only
def test_under_load_no_difference_is_invented_none_is_overlooked_and_all_are_repaired(
    source: Stream, mysql_server: Server
) -> None:
    stream = source
    values = ",".join(f"({n}, 0, 'x')" for n in range(3000))
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(9))",
        f"INSERT INTO t VALUES {values}",
        "UPDATE t SET v = 7, w = '' WHERE id BETWEEN 2002 AND 2004",
        "DELETE FROM t WHERE id = 2005",
    )
    ended = threading.Event()
    with replica_pair_of(stream, mysql_server.endpoint) as pair:
        pair.catch_up(3004)
        thread = loading(stream, ended)
        try:
            with pair.applying():
                for _ in range(5):
                    equal = pair.verify("--patience", "120")
                    assert equal.returncode == 0, equal.stdout + equal.stderr
                kinds = break_rows(pair)
                found = pair.differences("--patience", "120")
                repaired = pair.verify("--patience", "120", "--repair")
        finally:
            ended.set()
            thread.join()
        with pair.applying():
            again, report = pair.report("--patience", "120")
        pair.apply()
        still, idle = pair.report()
    assert {each["key"]["id"]: each["kind"] for each in found} == kinds
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    lines = repaired.stdout.splitlines()
    assert '  missing {"id": 2001}, copied again and equal now' in lines
    assert lines[lines.index('  different {"id": 2004}, copied again and equal now') :][1:3] == [
        '    source: {"w": ""}',
        '    replica: {"w": null}',
    ]
    assert (again, still) == (0, 0), report
    (table,) = idle["tables"]
    assert (table["compared_with"], table["rows_by_checksum"]) == ("replica", table["rows"])


@full_only
def test_rows_that_the_replica_lacks_are_copied_by_their_keys(
    stream: Stream, mysql_server: Server
) -> None:
    stream.execute(
        "CREATE TABLE t (id INT, part VARCHAR(9), v INT, PRIMARY KEY (id, part))",
        "INSERT INTO t VALUES (1,'it''s',1),(2,'b',2),(3,'c',3)",
    )
    with replica_pair_of(stream, mysql_server.endpoint) as pair:
        pair.catch_up(3)
        pair.sql("DELETE FROM t WHERE id = 1", "UPDATE t SET v = 3 WHERE id = 2")
        with pair.applying():
            repaired = pair.verify("--repair")
        copied = [each.value["after"]["id"] for each in stream.changes()[3:]]
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    assert sorted(copied) == [1, 2]


def test_a_row_that_differs_is_named_in_the_log_of_a_comparison_without_end(
    stream: Stream, mysql_server: Server
) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    port = free_port()
    with replica_pair_of(stream, mysql_server.endpoint, **settings(port)) as pair:
        pair.catch_up(1)
        arguments = ("--replica", str(pair.job_config))
        with Verification(pair.connector.config, arguments=arguments, port=port) as process:
            process.wait_for_lines("equal", 1)
            pair.sql("UPDATE t SET v = 2")
            (named, *_) = process.wait_for_lines("row differs", 1)
            assert process.lines("starting")[0]["cdc.compared_with"] == "replica"
            assert process.terminate() == 0
    found = [named[f"cdc.{name}"] for name in ("kind", "key", "columns")]
    assert found == ["different", {"id": 1}, ["v"]]


def test_what_the_replica_stores_in_another_form_on_purpose_is_equal(
    source: Stream, mysql_server: Server
) -> None:
    stream = source
    stream.execute(
        "SET NAMES utf8mb4",
        "SET sql_mode = 'ALLOW_INVALID_DATES'",
        "CREATE TABLE t (id INT PRIMARY KEY, n SMALLINT, f FLOAT, d DECIMAL(6,2), e ENUM('a','b'), "
        "at DATETIME(3), day DATE NOT NULL, big BIGINT UNSIGNED, txt VARCHAR(9), doc JSON)",
        "INSERT INTO t VALUES (1, -5, 0.1, -1.25, 'b', '2026-01-31 08:15:00.25', '0000-00-00', "
        "18446744073709551615, 'é', '{\"a\": [1, 1.10]}'), "
        "(2, NULL, NULL, NULL, NULL, NULL, '2026-01-31', NULL, NULL, NULL)",
    )
    is_mysql = stream.source == mysql_server.endpoint
    if is_mysql:
        # Numbers that a document's text does not tell from those of JSON.
        stream.execute(
            "UPDATE t SET doc = JSON_OBJECT('a', CAST(1.10 AS DECIMAL(9,2)), 'b', "
            "CAST(123456789012345678901234567890 AS DECIMAL(30))) WHERE id = 2"
        )
    with replica_pair_of(stream, mysql_server.endpoint) as pair:
        pair.target.sql(
            f"CREATE DATABASE {pair.database}",
            f"CREATE TABLE {pair.database}.t (ID BIGINT PRIMARY KEY, n INT, f DOUBLE, "
            "d DECIMAL(12,4), e VARCHAR(9), at DATETIME(6), day DATE, big BIGINT UNSIGNED, "
            "txt TEXT, doc LONGTEXT, mine INT DEFAULT 7)",
        )
        pair.catch_up(2 + is_mysql)
        done = pair.verify()
        pair.sql("UPDATE t SET f = f + 1e-12, d = d + 0.0001 WHERE id = 1")
        found = pair.differences()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [list(each["source"]) for each in found] == [["f", "d"]]


def test_what_cannot_be_compared_is_named_with_the_reason(
    stream: Stream, mysql_server: Server
) -> None:
    database = stream.database
    stream.execute(
        "CREATE TABLE past (id INT PRIMARY KEY)",
        "CREATE TABLE span (id INT PRIMARY KEY, v TIME)",
        "CREATE TABLE later (id INT PRIMARY KEY)",
        "CREATE TABLE fine (id INT PRIMARY KEY)",
        "CREATE TABLE aside (id INT PRIMARY KEY)",
        *(
            f"INSERT INTO {name} (id) VALUES (1)"
            for name in ("past", "span", "later", "fine", "aside")
        ),
    )
    choices: list[dict[str, Any]] = [{"match": ["*.past"], "mode": "history"}]
    with replica_pair_of(stream, mysql_server.endpoint, choices) as pair:
        stream.wait_for_changes(5, pair.connector)
        wait_until_settled(stream.broker, stream.prefix)
        pair.mirror()
        path = str(stream.directory / "mirror")
        none = pair.verify(f"{database}.fine")
        pair.target.sql(
            f"CREATE DATABASE {pair.database}",
            f"CREATE TABLE {pair.database}.span (id INT PRIMARY KEY, v TIME(6))",
        )
        pair.target.replica.apply_newest()
        stream.execute("ALTER TABLE later ADD COLUMN v INT", "INSERT INTO fine VALUES (2)")
        stream.execute("INSERT INTO aside VALUES (2)")
        stream.wait_for_changes(7, pair.connector)
        pair.target.sql(
            f"UPDATE _cdc.replica_tables SET version = NULL WHERE name = '{database}.later'",
            f"UPDATE _cdc.replica_tables SET left_out = 'so' WHERE name = '{database}.aside'",
        )
        code, report = pair.report("--patience", "5")
        away = stream.directory / "away.toml"
        away.touch(mode=0o600)
        port = f":{mysql_server.endpoint.port}/"
        away.write_text(pair.job_config.read_text().replace(port, ":1/"))
        config = str(pair.connector.config)
        gone = pair.run("verify", config, "--replica", str(away), f"{database}.fine")
    assert gone.stdout.startswith(f"{database}.fine: not finished: [S")
    assert "] target 127.0.0.1:1: " in gone.stdout
    name = f"target 127.0.0.1:{mysql_server.endpoint.port}"
    no_replica = shown(verify_errors.NO_REPLICA, server=name, name=pair.target.prefix, path=path)
    assert (none.returncode, none.stdout) == (1, f"{database}.fine: not finished: {no_replica}\n")
    found = {
        table["table"].removeprefix(f"{database}."): (table["verdict"], table["error"])
        for table in report["tables"]
    }
    assert code == 1
    assert found["past"] == (
        "not compared",
        shown(verify_errors.REPLICA_MODE, table=f"{database}.past", mode="history"),
    )
    facts = {"column": "v", "ours": "time", "theirs": "time(6)"}
    assert found["span"] == (
        "not compared",
        shown(verify_errors.REPLICA_TYPE, table=f"{database}.span", **facts),
    )
    why = "it was not loaded yet"
    assert found["later"] == (
        "not finished",
        shown(verify_errors.NOT_AT_REPLICA, table=f"{database}.later", why=why),
    )
    assert found["aside"] == (
        "not finished",
        shown(verify_errors.NOT_AT_REPLICA, table=f"{database}.aside", why="so"),
    )
    assert found["fine"] == (
        "not finished",
        shown(verify_errors.REPLICA_LAGS, table=f"{database}.fine", seconds=5.0),
    )
