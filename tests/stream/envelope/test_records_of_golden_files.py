"""The records of what real servers wrote, compared with records put together from the values."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from connector.binlog.events.rows_header import RowsKind
from connector.binlog.log_errors import EventError
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import UnsupportedChange
from connector.foundation.operating_system import TemporaryFolder
from connector.stream.changes.assembler import TransactionAssembler
from connector.stream.changes.receiver import ChangeReceiver
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.progress.sequences import TransactionOrder
from tests.golden.every_log import every_log
from tests.golden.golden import GoldenLog
from tests.stream.envelope.collected import Collected
from tests.stream.envelope.value_rows import ValueRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.events.rows import RowsEvent
    from connector.foundation.kafka_records import Record
    from connector.stream.changes.receiver import TransactionEnd
    from connector.stream.changes.transaction import RowsChange, StatementChange

OPTIONS = EnvelopeOptions(prefix="p", connector="mysql", version="1")
NOW_US = 1_700_000_000_500_000

# Key, operation, the number of the half of a row, and both images.
Expected = tuple[bytes | None, str, int, object, object]


class Comparison(ChangeReceiver):
    """Encodes changes, and compares the records."""

    def __init__(self) -> None:
        self._target = Collected()
        self._encoder = RecordEncoder(OPTIONS, TransactionOrder(), self._target)

    def rows(self, change: RowsChange) -> None:
        self._encoder.rows(change, NOW_US)
        records = [r for r in self._target.release() if r.topic != "p.schema"]
        assert [found(record) for record in records] == list(expected(change.rows))
        transaction = change.transaction
        for record in records:
            assert record.timestamp_ms == transaction.committed_us // 1000
            assert dict(record.headers)["cdc.txn"] == transaction.id.encode()
            if record.value is not None:
                source = json.loads(record.value)["source"]
                assert source["pos"] == change.event.position
                assert source["thread"] == transaction.thread_id
                assert source["ts_ns"] == transaction.committed_us * 1000
                assert source["server_id"] == change.event.header.server_id
                assert source["gtid"] == (transaction.gtid and str(transaction.gtid))

    def statement(self, change: StatementChange) -> None:
        self._encoder.statement(change, NOW_US)
        assert all(dict(r.headers)["cdc.op"] == b"t" for r in self._target.release())

    def transaction_end(self, end: TransactionEnd) -> None:
        del end


def found(record: Record) -> Expected:
    headers = dict(record.headers)
    half = int(headers["cdc.seq"][-8:])
    if record.value is None:
        return record.key, "tombstone", half, None, None
    value = json.loads(record.value)
    assert value["op"] == headers["cdc.op"].decode()
    assert value["source"]["row"] == half // 2
    return record.key, value["op"], half, value["before"], value["after"]


def expected(rows: RowsEvent) -> Iterator[Expected]:
    encoder = ValueRows(TableSchema.from_table_map(rows.table_map, ""))
    for number, row in enumerate(rows.rows(apply_diffs=True)):
        before, after = (
            (None, None)
            if image is None
            else (encoder.key(image), json.loads(encoder.image(image)))
            for image in (row.before, row.after)
        )
        if rows.kind is RowsKind.INSERT:
            yield after[0], "c", 2 * number, None, after[1]
        elif rows.kind is RowsKind.UPDATE and before[0] == after[0]:
            yield before[0], "u", 2 * number, before[1], after[1]
        else:
            yield before[0], "d", 2 * number, before[1], None
            if before[0] is not None:
                yield before[0], "tombstone", 2 * number, None, None
            if rows.kind is RowsKind.UPDATE:
                yield after[0], "c", 2 * number + 1, None, after[1]


@every_log
def test_records_hold_the_values_of_the_rows(log: GoldenLog) -> None:
    assembler = TransactionAssembler(TableFilter(["*.*"]), Comparison(), TemporaryFolder())
    # Files hold on purpose what cannot be carried; up to there, records are compared.
    with suppress(UnsupportedChange, EventError):
        for event in log.events():
            assembler.receive(event)
