"""Tables that are altered, renamed, dropped or replaced in the middle of their comparison."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from local_stack import connect
from tests import forked_command
from tests.integration.packet_proxy import PacketProxy
from tests.integration.verification.foreign_tables import ForeignTable
from tests.integration.verification.pair import pair_of
from tests.integration.verification.test_lost_connections import SETTINGS
from tests.integration.verification.test_lost_targets import PLAIN, at, behind
from verification import verify_errors
from verification.foreign import foreign_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from local_stack import Endpoint, Server
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

# More than those of small tables.
ROWS = 2400
DEFINITION = "CREATE TABLE {name} (id VARCHAR(9) PRIMARY KEY, n INT, v VARCHAR(30), w VARCHAR(30))"
FILL = "INSERT INTO {name} VALUES " + ", ".join(
    f"('{number}', {number}, 'row {number}', 'x')" for number in range(ROWS)
)
AGAIN = "INSERT INTO {name} VALUES ('1', 1, 'another', 'x'), ('new', 2, 'another', 'x')"
# By what happens; after the last ones, the table has the same columns.
ALTERED = {
    "added": ("ALTER TABLE {name} ADD COLUMN more INT NOT NULL DEFAULT 5 FIRST",),
    "dropped": ("ALTER TABLE {name} DROP COLUMN v",),
    "modified": (
        "ALTER TABLE {name} MODIFY n VARCHAR(20)",
        "UPDATE {name} SET n = 'abc' WHERE id > '4'",
    ),
    "renamed": ("ALTER TABLE {name} RENAME COLUMN v TO u, RENAME COLUMN w TO v",),
    "away": ("RENAME TABLE {name} TO {name}_before",),
    "other": ("DROP TABLE {name}", "CREATE TABLE {name} (id VARCHAR(9) PRIMARY KEY, v DATE)"),
}
REPLACED = {
    "again": ("DROP TABLE {name}", DEFINITION, AGAIN),
    "emptied": ("TRUNCATE TABLE {name}", AGAIN),
    "swapped": (
        "CREATE TABLE {name}_new LIKE {name}",
        "INSERT INTO {name}_new SELECT id, n + 1, v, w FROM {name}",
        "RENAME TABLE {name} TO {name}_old, {name}_new TO {name}",
    ),
}


def altering(endpoint: Endpoint, database: str, *statements: str) -> Callable[[bytes], bytes]:
    """Run statements when the first rows of a table come."""
    threads: list[threading.Thread] = []

    def alter() -> None:
        with connect(endpoint, database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def change(payload: bytes) -> bytes:
        if b"row 1" in payload and not threads:
            threads.append(threading.Thread(target=alter))
            threads[0].start()
            # The SELECT may hold its lock until all rows were taken.
            threads[0].join(1.0)
        return payload

    return change


def formed(name: str, statements: Sequence[str]) -> list[str]:
    return [statement.format(name=name) for statement in statements]


def test_a_mirror_of_a_table_that_is_altered_meanwhile_has_no_false_verdict(
    stream: Stream,
) -> None:
    every = ALTERED | REPLACED
    for name in every:
        stream.execute(*formed(name, (DEFINITION, FILL)))
    found: dict[str, dict[str, Any]] = {}
    with pair_of(stream) as pair:
        pair.catch_up(len(every) * ROWS)
        with pair.applying():
            for name, statements in every.items():
                change = altering(stream.source, stream.database, *formed(name, statements))
                with PacketProxy(stream.source, change) as proxy:
                    stream.config(
                        **SETTINGS | {"source__port": proxy.port}, snapshot__chunk_rows=300
                    )
                    _, report = pair.report(f"{stream.database}.{name}")
                (found[name],) = report["tables"]
    for name in ALTERED:
        assert found[name]["verdict"] == "not finished", found[name]
        text = f"table {stream.database}.{name} was altered, renamed or dropped while it was"
        assert found[name]["error"].startswith(f"[{verify_errors.ALTERED}] {text}"), found[name]
    for name in REPLACED:
        assert found[name]["verdict"] == "equal", found[name]


def test_another_table_that_is_altered_meanwhile_has_no_false_verdict(
    mysql_server: Server, mariadb_server: Server, database: str, tmp_path: Path
) -> None:
    source = ForeignTable(mysql_server.endpoint, database, tmp_path)
    end = mariadb_server.endpoint
    target = ForeignTable(end, database, tmp_path)
    found: dict[str, dict[str, Any]] = {}
    with connect(end) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {database}")
        for name, statements in (ALTERED | REPLACED).items():
            for side in (source, target):
                side.execute(*formed(name, (DEFINITION, FILL)))
            # So that rows are looked for in the log.
            target.execute(f"UPDATE {name} SET n = 0 WHERE id = '77'")
            change = altering(source.endpoint, database, *formed(name, statements))
            with PacketProxy(source.endpoint, change) as proxy:
                found[name] = compared(behind(source, proxy.port), name, end)
        cursor.execute(f"DROP DATABASE {database}")
    codes = f"[{verify_errors.ALTERED}]", f"[{foreign_errors.TABLE_CHANGED}]"
    for name in found.keys() - {"emptied"}:
        assert found[name]["verdict"] == "not finished", (name, found[name])
        assert found[name]["error"].startswith(codes), (name, found[name])
    # Its rows were read before the TRUNCATE, which the log tells, and the target lacks.
    (differs,) = found["emptied"]["differences"]
    assert (differs["key"]["id"], differs["kind"]) == ("77", "surplus")


def compared(source: ForeignTable, name: str, end: Endpoint) -> dict[str, Any]:
    """Return the report of a table and its copy at another server."""
    table = f"{source.database}.{name}"
    target = f"{at(end, end.port)}/{table}{PLAIN}"
    options = ("--lag", "1", "--max-differences", "10000", "--json")
    done = forked_command.run("verify", source.url, "--table", f"{table}={target}", *options)
    (found,) = json.loads(done.stdout)["tables"]
    report: dict[str, Any] = found
    return report
