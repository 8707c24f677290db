"""Tables are read in the order of their keys, whatever the keys are, and each row once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from connector.cli import command_errors, snapshot
from connector.foundation.errors.message import Message
from local_stack import connect
from tests.application import invoke
from tests.integration.harness import read_committed, wait_until
from tests.integration.snapshots.snapshot_load import slow_table
from tests.integration.snapshots.test_snapshot import run_snapshot, states, wait_for_copies
from tests.length import length

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

ROWS = length(short=150, full=300)
# A table is split if each of two connections has at least four chunks.
CHUNKED = {"source__start": "snapshot", "snapshot__chunk_rows": 17}

# Type of the key, and the key of row `n` in SQL.
KEYS = {
    "text_ci": ("VARCHAR(20) CHARACTER SET utf8mb4", "CONCAT(CHAR(65 + n % 26), 'ä', n)"),
    "text_spaces": ("CHAR(8) CHARACTER SET latin1", "CONCAT(CHAR(97 + n % 7), ' ', n)"),
    "bytes_fixed": ("BINARY(4)", "UNHEX(LPAD(HEX(n * 7919), 8, '0'))"),
    "bytes": ("VARBINARY(8)", "UNHEX(LPAD(HEX(n * 104729), 16, '0'))"),
    "decimals": ("DECIMAL(12,3)", "n * 1.234 - 100"),
    "moments": ("DATETIME(6)", "'2020-01-01' + INTERVAL n * 1234567 MICROSECOND"),
    "stamps": ("TIMESTAMP(3)", "'2020-01-01' + INTERVAL n * 7 HOUR"),
    "days": ("DATE", "'2020-01-01' + INTERVAL n DAY"),
    "times": ("TIME(2)", "SEC_TO_TIME(n * 100 - 15000)"),
    "floats": ("FLOAT", "n * 0.1 - 5"),
    "doubles": ("DOUBLE", "n / 7 - 20"),
    "big": ("BIGINT UNSIGNED", "18446744073709551615 - n * 3"),
    "negative": ("SMALLINT", "150 - n"),
    "bits": ("BIT(12)", "n * 13"),
    "colours": (
        f"ENUM({', '.join(repr(f'c{n * 7 % ROWS}') for n in range(ROWS))})",
        "n + 1",
    ),
    "sets": ("SET('i', 'h', 'g', 'f', 'e', 'd', 'c', 'b', 'a')", "n + 1"),
}


def _fill(stream: Stream, table: str, definition: str, value: str) -> None:
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION time_zone = '+00:00'")
        cursor.execute(f"CREATE TABLE `{table}` (k {definition} NOT NULL PRIMARY KEY, n INT)")
        cursor.execute(f"INSERT INTO `{table}` SELECT {value}, n FROM numbers")
        connection.commit()


def test_each_row_is_copied_once_by_keys_of_every_type(either_stream: Stream) -> None:
    stream = either_stream
    numbers = ", ".join(f"({n})" for n in range(ROWS))
    stream.execute(
        "CREATE TABLE numbers (n INT PRIMARY KEY)", f"INSERT INTO numbers VALUES {numbers}"
    )
    for table, (definition, value) in KEYS.items():
        _fill(stream, table, definition, value)
    stream.execute(
        "CREATE TABLE prefixed (k VARCHAR(40) NOT NULL, n INT, PRIMARY KEY (k(5)))",
        "INSERT INTO prefixed SELECT CONCAT(LPAD(n, 5, '0'), 'x'), n FROM numbers",
        "CREATE TABLE `unique` (k INT NOT NULL UNIQUE, n INT)",
        "INSERT INTO `unique` SELECT n, n FROM numbers",
        "CREATE TABLE composed (a INT, b VARCHAR(5), n INT, PRIMARY KEY (b, a))",
        "INSERT INTO composed SELECT n DIV 10, CONCAT('K', n % 10), n FROM numbers",
        "CREATE TABLE one_tenant (a VARCHAR(5), n INT, PRIMARY KEY (a, n))",
        "INSERT INTO one_tenant SELECT 'a, b', n FROM numbers",
    )
    tables = [*KEYS, "prefixed", "unique", "composed", "one_tenant"]
    with stream.connector(**CHUNKED) as connector:
        wait_for_copies(stream, connector, *(f"{stream.database}.{table}" for table in tables))
        found = states(stream)
        assert connector.terminate() == 0
    seen = [r for r in read_committed(stream.broker, stream.prefix) if r.op == "r"]
    for table in tables:
        rows = Counter(
            record.value["after"]["n"] for record in seen if record.topic.endswith(f".{table}")
        )
        assert rows == Counter(range(ROWS)), table
        assert bool(found[f"{stream.database}.{table}"]["key"]) == (table != "prefixed")
    control = read_committed(stream.broker, stream.prefix, control=True)
    copied = [record.value for record in control if record.topic == f"{stream.prefix}.snapshot"]
    parted = {state["table"] for state in copied if state and len(state["ranges"]) > 1}
    assert parted == {"numbers", *tables} - {"prefixed"}


@pytest.mark.parametrize("chunk_bytes", [65536])
def test_chunks_of_large_rows_have_fewer_of_them(stream: Stream, chunk_bytes: int) -> None:
    stream.execute(
        "CREATE TABLE large (id INT PRIMARY KEY, text LONGTEXT)",
        *(f"INSERT INTO large VALUES ({n}, REPEAT('x', {n * 3000}))" for n in range(60)),
    )
    sizes = {"snapshot__chunk_bytes_max": chunk_bytes}
    with stream.connector(**CHUNKED | sizes) as connector:
        wait_for_copies(stream, connector, f"{stream.database}.large")
        assert connector.terminate() == 0
    seen = read_committed(stream.broker, stream.prefix)
    assert Counter(len(r.value["after"]["text"]) for r in seen) == Counter(
        n * 3000 for n in range(60)
    )


# On MySQL alone: the log of MariaDB has no virtual columns, so no condition may read one there.
def test_a_select_that_takes_too_long_is_halved(stream: Stream) -> None:
    stream.execute(*slow_table("plain", 40))
    # Half of what all rows take, however fast this machine is at the moment.
    begin = time.monotonic()
    stream.execute(f"SELECT COUNT(*) FROM {stream.database}.plain WHERE slow = 128")
    limit = {"snapshot__statement_seconds_max": max(0.1, (time.monotonic() - begin) / 2)}
    with stream.connector(**CHUNKED | {"source__start": "latest"} | limit) as connector:
        connector.wait_for("streaming")
        done = run_snapshot(connector.config, f"{stream.database}.plain", "--where", "slow = 128")
        assert (done.returncode, done.stderr) == (0, "")
        assert connector.terminate() == 0
    ids = [record.value["after"]["id"] for record in stream.changes()]
    assert sorted(ids) == list(range(40))


def test_reading_pauses_while_the_source_is_busy(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE gate (busy INT PRIMARY KEY)",
        "INSERT INTO gate VALUES (1)",
        "CREATE TABLE plain (id INT PRIMARY KEY)",
        "INSERT INTO plain VALUES (1), (2), (3)",
    )
    only = {"source__tables": [f"{stream.database}.plain"]}
    pause = {"snapshot__pause_query": f"SELECT busy FROM {stream.database}.gate"}
    with stream.connector(**CHUNKED | only | pause) as connector:
        connector.wait_for("snapshot.pause_query returns 1")
        stream.execute("INSERT INTO plain VALUES (4)")
        # The stream does not pause.
        stream.wait_for_changes(1, connector)
        assert [record.op for record in stream.changes()] == ["c"]
        stream.execute("UPDATE gate SET busy = 0")
        wait_for_copies(stream, connector, f"{stream.database}.plain")
        wait_until(lambda: len(stream.changes()) >= 4, connector.output)
        assert connector.terminate() == 0


def test_the_command_tells_of_a_copy_that_does_not_go_on(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.execute(
        "CREATE TABLE gate (busy INT PRIMARY KEY)",
        "INSERT INTO gate VALUES (1)",
        "CREATE TABLE plain (id INT PRIMARY KEY)",
        "INSERT INTO plain VALUES (1), (2), (3)",
    )
    table = f"{stream.database}.plain"
    pause = {"snapshot__pause_query": f"SELECT busy FROM {stream.database}.gate"}
    monkeypatch.setattr(snapshot, "_SILENT_SECONDS", 1.0)
    with stream.connector(source__tables=[table], **pause) as connector:
        connector.wait_for("streaming")

        def go_on() -> None:
            connector.wait_for("snapshot.pause_query returns 1")
            time.sleep(3.0)
            stream.execute("UPDATE gate SET busy = 0")

        opener = threading.Thread(target=go_on)
        opener.start()
        done = invoke(["snapshot", str(connector.config), table])
        opener.join()
        assert done.exit_code == 0, done.stdout
        assert f"{table}: 3 rows" in done.stdout
        facts = {"pipeline": stream.prefix, "seconds": 1.0}
        assert str(Message(command_errors.COPY_IS_SILENT, facts)) in done.stderr
        assert connector.terminate() == 0
