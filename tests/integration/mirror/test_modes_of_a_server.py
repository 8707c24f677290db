"""Mirrors of every mode, of tables of a real server, against SELECT and the server's own log."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.events.transaction import CommitInfo
from connector.reader import open_server
from local_stack import connect
from tests.integration.harness import wait_until, wait_until_settled

if TYPE_CHECKING:
    from connector.reader import RowChange
    from tests.integration.database_stream import Stream
    from tests.integration.mirror.conftest import Job

pytestmark = [pytest.mark.server, pytest.mark.kafka]

KEYED = "(id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(6,2), at DATETIME(3))"
KEYLESS = "(id INT, name VARCHAR(20), price DECIMAL(6,2), weight DOUBLE, note JSON)"
MODES = {"kept": "soft_delete", "versions": "history", "log": "journal", "bag": "rows"}


def selected(stream: Stream, table: str) -> list[tuple[Any, ...]]:
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        return [tuple(row) for row in cursor.fetchall()]


def keyed(table: str) -> list[str]:
    return [
        f"INSERT INTO {table} VALUES (1,'a',1.50,'2026-01-01'),(2,'b',NULL,NULL),(3,'c',3,NULL)",
        f"UPDATE {table} SET name = 'aa' WHERE id = 1",
        f"UPDATE {table} SET id = 9 WHERE id = 2",
        f"DELETE FROM {table} WHERE id = 3",
        f"INSERT INTO {table} VALUES (3,'again',30,'2026-02-02 01:02:03.004')",
    ]


def later(table: str) -> list[str]:
    return [
        f"UPDATE {table} SET price = 99.99",
        f"ALTER TABLE {table} DROP COLUMN price",
        f"INSERT INTO {table} (id, name) VALUES (4,'d')",
        f"UPDATE {table} SET name = NULL WHERE id = 9",
    ]


def changes_in_log(stream: Stream, table: str) -> list[tuple[RowChange, datetime]]:
    """The changes of a table in the server's own log, with the times of their commits."""
    source = stream.source
    url = f"mysql://{source.user}:{source.password}@{source.host}:{source.port}/"
    with open_server(url, start=stream.start, stop_at_end=True) as log:
        times = {
            transaction.gtid: body.original_commit_timestamp or 0
            for transaction in log.transactions()
            if isinstance(body := next(transaction.events()).body, CommitInfo)
        }
    with open_server(url, start=stream.start, stop_at_end=True) as log:
        found = [c for c in log.row_changes() if (c.database, c.table) == (stream.database, table)]
    return [
        (change, datetime.fromtimestamp(0, UTC) + timedelta(microseconds=times[change.gtid]))
        for change in found
    ]


def test_every_mode_holds_what_the_server_says(stream: Stream, own_job: Job) -> None:
    tables = [{"match": [f"*.{name}"], "mode": mode} for name, mode in MODES.items()]
    stream.execute(
        *(f"CREATE TABLE {name} {KEYED}" for name in ("kept", "versions")),
        *(f"CREATE TABLE {name} {KEYLESS}" for name in ("log", "bag")),
    )
    with stream.connector() as connector:
        stream.execute(*keyed("kept"), *keyed("versions"))
        for table in ("log", "bag"):
            stream.execute(
                f"INSERT INTO {table} VALUES (1,'a',1.5,0.1,'[1]'),(1,'a',1.5,0.1,'[1]')",
                f"INSERT INTO {table} VALUES (1,'a',1.5,0.1,'[1]'),(NULL,NULL,NULL,NULL,NULL)",
                f"DELETE FROM {table} WHERE id = 1 LIMIT 1",
                f"UPDATE {table} SET name = 'b' WHERE id = 1 LIMIT 1",
            )
        stream.wait_for_changes(26, connector)
        wait_until_settled(stream.broker, stream.prefix)
        lines = own_job.run(tables=tables)
        assert own_job.exit_code == 0, lines
        stream.execute(*later("kept"), *later("versions"))
        stream.execute("INSERT INTO bag SELECT * FROM bag", "DELETE FROM log WHERE id IS NULL")
        stream.wait_for_changes(26 + 10 + 3 + 1, connector)
        wait_until_settled(stream.broker, stream.prefix)
        lines = own_job.run(tables=tables)
        assert own_job.exit_code == 0, lines
    compare_soft_delete(stream, own_job)
    compare_history(stream, own_job)
    compare_journal(stream, own_job)
    bag = own_job.data("bag", stream.database).drop_columns(["_cdc_hi", "_cdc_lo"]).to_pylist()
    assert Counter(tuple(row.values()) for row in bag) == Counter(selected(stream, "bag"))


EARLIER = {"now": "current", "kept": "soft_delete", "versions": "history", "log": "journal"}


@pytest.mark.parametrize(
    ("rekeyed", "moved", "copies"),
    [
        ("DROP PRIMARY KEY, ADD k INT AUTO_INCREMENT PRIMARY KEY", "k = 0", 1),
        ("DROP PRIMARY KEY, ADD k INT AUTO_INCREMENT UNIQUE, ADD PRIMARY KEY (id, k)", "k = 0", 1),
        (
            "MODIFY code VARCHAR(9) NOT NULL, DROP PRIMARY KEY, ADD PRIMARY KEY (code)",
            "code = ''",
            0,
        ),
        ("ADD k INT NOT NULL DEFAULT 5, DROP PRIMARY KEY, ADD PRIMARY KEY (k, id)", "k = 0", 1),
    ],
    ids=["a number", "a number beside the key", "a column that was NULL", "a default"],
)
def test_rows_of_an_earlier_key_stay(
    stream: Stream, own_job: Job, rekeyed: str, moved: str, copies: int
) -> None:
    tables = [{"match": [f"*.{name}"], "mode": mode} for name, mode in EARLIER.items()]
    with stream.connector() as connector:
        for table in EARLIER:
            stream.execute(
                f"CREATE TABLE {table} (id INT PRIMARY KEY, code VARCHAR(9), note VARCHAR(9))",
                f"INSERT INTO {table} VALUES (1,NULL,'gone'),(2,NULL,'lost'),(3,'c','stays')",
                f"DELETE FROM {table} WHERE id < 3",
            )
        stream.wait_for_changes(5 * len(EARLIER), connector)
        wait_until_settled(stream.broker, stream.prefix)
        own_job.run(tables=tables)
        stream.execute(*(f"ALTER TABLE {table} {rekeyed}" for table in EARLIER))

        def are_copied() -> bool:
            return len([each for each in stream.changes() if each.op == "r"]) == len(EARLIER)

        wait_until(are_copied, connector.output)
        count = len(stream.changes())
        for table in EARLIER:
            stream.execute(
                "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
                f"UPDATE {table} SET {moved}",
                f"UPDATE {table} SET note = 'new'",
            )
        seen = stream.wait_for_changes(count + 3 * len(EARLIER), connector)
        wait_until_settled(stream.broker, stream.prefix)
        lines = own_job.run(tables=tables)
        assert own_job.exit_code == 0, lines
    rows = {table: own_job.data(table, stream.database).to_pylist() for table in EARLIER}
    kept = [(row["note"], row["_cdc_deleted"]) for row in rows["kept"]]
    stays = [("stays", True)] * (1 + copies)
    assert sorted(kept) == sorted([("gone", True), ("lost", True), ("new", False), *stays])
    versions = [(row["note"], row["_cdc_end_op"]) for row in rows["versions"]]
    ends = {("gone", "d"), ("lost", "d"), ("stays", "t"), ("stays", "d"), ("stays", "u")}
    assert set(versions) == ends | {("new", None)}
    assert len(versions) == 6
    own = [each for each in seen if each.topic.endswith(".log")]
    assert [row["_cdc_op"] for row in in_order(rows["log"])] == [each.op for each in own]
    now = [row for row in rows["kept"] if not row["_cdc_deleted"]]
    for found in (rows["now"], now, [row for row in rows["versions"] if row["_cdc_is_current"]]):
        (row,) = found
        with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(own_columns(row))} FROM now")
            assert cursor.fetchall() == (tuple(own_columns(row).values()),)


def own_columns(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of the source."""
    return {name: value for name, value in row.items() if not name.startswith("_cdc_")}


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["_cdc_hi"], row["_cdc_lo"]))


def compare_soft_delete(stream: Stream, job: Job) -> None:
    rows = job.data("kept", stream.database).to_pylist()
    alive = [(row["id"], row["name"], row["at"]) for row in rows if not row["_cdc_deleted"]]
    assert sorted(alive) == sorted(selected(stream, "kept"))
    # The row of the changed key is a deleted one; a dropped column keeps its values.
    assert [row["id"] for row in rows if row["_cdc_deleted"]] == [2]
    assert {row["id"]: str(row["price"]) for row in rows}[3] == "99.99"


def compare_history(stream: Stream, job: Job) -> None:
    versions: list[tuple[Any, ...]] = []
    current: dict[object, tuple[Any, ...]] = {}
    for change, at in changes_in_log(stream, "versions"):
        if change.before is not None:
            versions.append((*current.pop(change.before["id"]), at))
        if change.after is not None:
            row = (change.after["id"], change.after["name"], change.after.get("price"))
            current[change.after["id"]] = (*row, at)
    versions += [(*version, None) for version in current.values()]
    rows = job.data("versions", stream.database).to_pylist()
    found = [
        (
            row["id"],
            row["name"],
            None if row["price"] is None else str(row["price"]),
            row["_cdc_valid_from"],
            row["_cdc_valid_to"],
        )
        for row in rows
    ]
    assert sorted(found, key=str) == sorted(versions, key=str)
    now = [(r["id"], r["name"], r["at"]) for r in rows if r["_cdc_is_current"]]
    assert sorted(now) == sorted(selected(stream, "versions"))


def compare_journal(stream: Stream, job: Job) -> None:
    ops = {"insert": "c", "update": "u", "delete": "d"}
    expected = [
        (ops[change.op], tuple((change.after or change.before or {}).values()), at)
        for change, at in changes_in_log(stream, "log")
    ]
    rows = job.data("log", stream.database).to_pylist()
    rows.sort(key=lambda row: (row["_cdc_hi"], row["_cdc_lo"]))
    found = [
        (
            row["_cdc_op"],
            (
                row["id"],
                row["name"],
                None if row["price"] is None else str(row["price"]),
                row["weight"],
                row["note"],
            ),
            row["_cdc_ts"],
        )
        for row in rows
    ]
    assert found == expected
