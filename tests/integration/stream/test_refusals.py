"""What cannot be published stops a connector that shall, with where, what and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.binlog.source_log import sending_files
from tests.integration.harness import failure_of, run_to_end, wait_until_settled
from tests.integration.packet_proxy import PacketProxy, flip_bit_behind, retype

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB"
BEFORE = "INSERT INTO t VALUES (1, 'before')"
CONTINUE = "continue after it: give the pipeline a new name and set source.start"


def last_error(stream: Stream, **changed: object) -> str:
    """Run the connector until it stops by itself; return what it says, without positions."""
    text = whole_error(stream, **changed).replace(stream.database, "shop")
    text = re.sub(r"; the position after this transaction is source.start = .*", "", text)
    text = re.sub(r"(binlog|mysqld-bin)\.\d{6}:\d+", "LOG:POS", text)
    return re.sub(r"--start-position=\d+ \S+`", "…`", re.sub(r"[0-9a-f-]{36}:\d+", "GTID", text))


def whole_error(stream: Stream, **changed: object) -> str:
    code, output = run_to_end(stream.config(quarantine__policy="stop", **changed))
    assert code == 3, output
    return failure_of(output)


def committed_ids(stream: Stream) -> list[int]:
    wait_until_settled(stream.broker, stream.prefix)
    return [change.key["id"] for change in stream.changes()]


def test_a_change_logged_as_a_statement_is_refused(stream: Stream) -> None:
    # A variable and the state of RAND() are logged before the statement that reads them.
    stream.execute(
        TABLE,
        BEFORE,
        "SET SESSION binlog_format = STATEMENT",
        "SET @v = 'x'",
        "UPDATE t SET v = CONCAT(@v, ROUND(RAND(), 9))",
    )
    assert last_error(stream) == (
        "LOG:POS: UPDATE in database shop, logged as a statement, cannot be published without loss "
        "(transaction GTID); by R-log-statement-format (1), a session ran with "
        "binlog_format=STATEMENT, because MIXED logs rows for it (Statement is unsafe because it "
        "uses a system function): SET GLOBAL binlog_format=ROW, take the right to change it from "
        f"the application, repair the rows it touched, and {CONTINUE}. Nothing from this "
        "transaction was published"
    )
    assert committed_ids(stream) == [1]


def test_a_stream_continues_after_a_refused_transaction_at_the_position_that_is_told(
    stream: Stream,
) -> None:
    stream.execute(TABLE, BEFORE)
    stream.transaction(
        "INSERT INTO t VALUES (2, 'refused')",
        "SET SESSION binlog_row_image = MINIMAL",
        "UPDATE t SET v = 'x' WHERE id = 1",
    )
    told = re.search(
        r'the position after this transaction is source.start = "(.*)"$', whole_error(stream)
    )
    assert told is not None
    stream.execute("INSERT INTO t VALUES (3, 'after')")
    with stream.connector(name=f"{stream.prefix}-anew", source__start=told[1]) as connector:
        stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    assert committed_ids(stream) == [1, 3]


def test_a_file_loaded_by_a_statement_is_refused(stream: Stream, tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("2\tloaded\n")
    stream.execute(TABLE, BEFORE)
    with (
        sending_files(stream.source, stream.database) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SET SESSION binlog_format = STATEMENT")
        cursor.execute(f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE t")
    assert last_error(stream).startswith(
        "LOG:POS: LOAD in database shop, logged as a statement, cannot be published without loss "
        "(transaction GTID); by R-log-statement-format (1) or (2), a session ran with "
        "binlog_format=STATEMENT or MIXED: "
    )
    assert committed_ids(stream) == [1]


def test_a_row_image_with_columns_left_out_is_refused(stream: Stream) -> None:
    stream.execute(TABLE, BEFORE)
    stream.execute("SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET v = 'x'")
    assert last_error(stream) == (
        'LOG:POS: table shop.t: a row was logged without column "v": a session ran with '
        "binlog_row_image=MINIMAL or NOBLOB; SET GLOBAL binlog_row_image=FULL, and give the "
        "pipeline a new name with source.start after these rows"
    )
    assert committed_ids(stream) == [1]


def test_transactions_before_the_refused_one_are_delivered_though_they_share_its_batch(
    stream: Stream,
) -> None:
    stream.execute(TABLE, *(f"INSERT INTO t VALUES ({n}, 'x')" for n in range(30)))
    stream.transaction(
        "INSERT INTO t VALUES (100, 'x')",
        "SET SESSION binlog_row_image = MINIMAL",
        "UPDATE t SET v = 'y' WHERE id = 1",
    )
    error = last_error(stream, delivery__commit_interval_ms=10_000)
    assert 'was logged without column "v"' in error
    assert committed_ids(stream) == list(range(30))


def test_a_record_that_kafka_does_not_take_is_refused_with_the_setting_to_raise(
    stream: Stream,
) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v TEXT)",
        "INSERT INTO t VALUES (1, 'small')",
        "INSERT INTO t VALUES (2, REPEAT('x', 20000))",
    )
    error = last_error(stream, kafka__record_bytes_max=4096, delivery__commit_interval_ms=10_000)
    assert error.endswith(
        "cannot write to topic shop.shop.t: a record is larger than Kafka takes; raise "
        "kafka.record_bytes_max, and max.message.bytes of the topic if it existed before"
    )
    assert committed_ids(stream) == [1]


def test_a_bit_flipped_on_the_way_is_noticed(stream: Stream) -> None:
    stream.execute(TABLE, BEFORE, "INSERT INTO t VALUES (2, 'marker')")
    with PacketProxy(stream.source, flip_bit_behind(b"marker")) as proxy:
        error = whole_error(stream, source__port=proxy.port, **{"source.tls__mode": "disabled"})
    assert ": cannot decode WRITE_ROWS_EVENT: CRC32 is 0x" in error, error
    assert committed_ids(stream) == [1]


def test_an_event_of_unknown_type_that_may_be_ignored_is_told(stream: Stream) -> None:
    # The text of the statement comes in an event that is flagged as ignorable.
    text = "INSERT /* marker */ INTO t VALUES (2, 'x')"
    stream.execute(TABLE, "SET SESSION binlog_rows_query_log_events = ON", text)
    with (
        PacketProxy(stream.source, retype(b"marker", 99)) as proxy,
        stream.connector(source__port=proxy.port, **{"source.tls__mode": "disabled"}) as connector,
    ):
        assert [change.key["id"] for change in stream.wait_for_changes(1, connector)] == [2]
        output = connector.output()
    assert "skipped an event of an unknown type, which its server flagged as ignorable" in output
    assert "event type 99" in output


def test_an_event_of_unknown_type_is_refused(stream: Stream) -> None:
    stream.execute(TABLE, BEFORE, "INSERT INTO t VALUES (2, 'marker')")
    with PacketProxy(stream.source, retype(b"marker", 99)) as proxy:
        error = last_error(stream, source__port=proxy.port, **{"source.tls__mode": "disabled"})
    assert "cannot decode " in error
    assert committed_ids(stream) == [1]
