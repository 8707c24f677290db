"""Events of real servers, put into quarantine and read back; and what is shown of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.binlog.events.mariadb import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.header import EventType
from connector.foundation.errors import DecodeError, RecordTooLarge
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.records import (
    ChangeReader,
    RecordParts,
    base64_text,
    event_bytes,
    explain_record,
    new_record,
    quarantined_rows,
    record_values,
)
from tests.golden.every_log import every_log_of_a_source
from tests.golden.golden import GoldenLog, with_inner_events
from tests.stream.quarantine.bench import BAD, Kafka, Log, Row, Run, quarantined

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from connector.foundation.control_records import QuarantineRecord

KEY = b"shop/db.t"
SMALL = 4000


def record_of(
    event: Event, rows: RowsEvent, flavour: str, format_description: bytes
) -> tuple[QuarantineRecord, bytes]:
    data, checksummed = event_bytes(event, rows)
    record = new_record(
        seq="0" * 38,
        kind="rows",
        pipeline="shop",
        database=rows.table_map.schema,
        table=rows.table_map.table,
        rows=[],
        rest=0,
        error="no reason",
        file=event.file,
        position=event.position,
        event_number=0,
        flavour=flavour,
        transaction="t",
        transaction_file=event.file,
        transaction_position=4,
        gtid=None,
        committed_us=0,
        server_id=1,
        thread_id=None,
        schema_id="",
        format_description=base64_text(format_description),
        table_map=base64_text(rows.table_map.raw),
        checksummed=checksummed,
        query="",
        quarantined_at_ms=0,
    )
    return record, data


@every_log_of_a_source
def test_rows_of_real_servers_are_read_back(log: GoldenLog) -> None:
    flavour = "mariadb" if log.recording.server.startswith("mariadb") else "mysql"
    reader, parts = ChangeReader(), RecordParts()
    format_description = b""
    for event in with_inner_events(log.events()):
        if event.header.type_code == EventType.FORMAT_DESCRIPTION_EVENT:
            format_description = event.data
        body = event.body
        rows = body.rows_event if isinstance(body, PartialRowDataEvent) else body
        if not isinstance(rows, RowsEvent) or rows.is_dummy or rows.refused is not None:
            continue
        record, data = record_of(event, rows, flavour, format_description)
        found = None
        for value in record_values(record, data, 60_000):
            assert len(value) <= 60_000
            assert found is None
            found = parts.take(KEY, value)
        assert found is not None
        change = reader.rows(*found)
        try:
            expected = list(rows.rows())
        except DecodeError:
            continue
        assert list(change.rows.rows()) == expected
        assert change.rows.kind is rows.kind
        assert [kept["row"] for kept in quarantined_rows(found[0], len(expected))] == list(
            range(len(expected))
        )
        assert len(list(explain_record(*found))) > len(expected[:20])


def test_a_record_of_another_event_than_rows_is_refused() -> None:
    kafka, log = Kafka(), Log()
    log.transaction(("t", [Row("c", 1, BAD)]))
    Run(kafka, log, "fence-key").deliver()
    ((record, _),) = quarantined(kafka)
    with pytest.raises(DecodeError) as caught:
        ChangeReader().rows(record, log.events[-1])
    assert caught.value.code is quarantine_errors.NO_ROWS


def test_a_record_that_has_no_room_for_what_describes_it_is_refused() -> None:
    kafka, log = Kafka(), Log()
    log.transaction(("t", [Row("c", 1, BAD)]))
    run = Run(kafka, log, "fence-key", record_bytes_max=900)
    with pytest.raises(RecordTooLarge) as caught:
        run.deliver()
    assert caught.value.text == (
        "binlog.000001:315: the description of shop.t does not fit into a record of the "
        "quarantine; raise kafka.record_bytes_max, and max.message.bytes of the topic if it "
        "existed before"
    )


def test_a_value_of_another_version_is_named() -> None:
    with pytest.raises(DecodeError, match="a record in the quarantine is not one of this version"):
        RecordParts().take(KEY, b"{}")


def test_parts_without_the_first_are_left_out() -> None:
    kafka, log = Kafka(), Log()
    log.transaction(("t", [Row("c", 1, b"x" * 9000)]))
    Run(kafka, log, "fence-key").deliver()
    values = [record.value or b"" for record in kafka.committed["p.quarantine"]]
    assert [json.loads(value)["part"] for value in values] == list(range(1, len(values) + 1))
    parts = RecordParts()
    assert [parts.take(KEY, value) for value in values[1:]] == [None] * (len(values) - 1)
    whole = [parts.take(KEY, value) for value in values][-1]
    assert whole is not None
    assert b"x" * 9000 in whole[1]


def test_the_bytes_of_a_bad_column_are_shown() -> None:
    kafka, log = Kafka(), Log()
    log.transaction(("t", [Row("c", 1), Row("c", 2, b"good" + BAD)]))
    Run(kafka, log, "fence-key").deliver()
    ((record, event),) = quarantined(kafka)
    reason = (
        "[T235] column text holds a value that is not text of its character set; correct it, or "
        "exclude the table"
    )
    assert list(explain_record(record, event))[5:] == [
        f"  reason       {reason}",
        f"  row 1: {reason}",
        "    after",
        "      column id (LONG): 2",
        f"      column text (VARCHAR): {reason}",
        "        00000010  00 00 00 65 00 00 00 00 00 01 00 02 00 02 03 00  ...e............",
        "      > 00000020  01 00 00 00 04 00 74 65 78 74 00 02 00 00 00 06  ......text......",
        "      > 00000030  00 67 6f 6f 64 ff fe                             .good..",
    ]
