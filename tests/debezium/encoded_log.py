"""Our records of a log that Debezium has read."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from connector.binlog.table_filter import TableFilter
from connector.foundation.operating_system import TemporaryFolder
from connector.stream.changes.assembler import TransactionAssembler
from connector.stream.changes.receiver import ChangeReceiver
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.progress.sequences import TransactionOrder
from tests.debezium.comparison import LOG
from tests.golden.golden import decoded_events
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.kafka_records import Record
    from connector.stream.changes.receiver import TransactionEnd
    from connector.stream.changes.transaction import RowsChange, StatementChange
    from connector.stream.envelope.options import EnvelopeOptions


class _Encoding(ChangeReceiver):
    """Encodes changes."""

    def __init__(self, options: EnvelopeOptions) -> None:
        self.target = Collected()
        self._encoder = RecordEncoder(options, TransactionOrder(), self.target)

    def rows(self, change: RowsChange) -> None:
        self._encoder.rows(change, 0)

    def statement(self, change: StatementChange) -> None:
        self._encoder.statement(change, 0)

    def transaction_end(self, end: TransactionEnd) -> None:
        del end


def encoded_log(folder: Path, kept: Path, tables: str, options: EnvelopeOptions) -> list[Record]:
    """Return the records of `tables` in the log that `kept` has; unpack it in `folder`."""
    log = folder / "binlog.000001"
    log.write_bytes(gzip.decompress((kept / LOG).read_bytes()))
    encoding = _Encoding(options)
    assembler = TransactionAssembler(TableFilter([tables]), encoding, TemporaryFolder())
    for event in decoded_events(log, log.name):
        assembler.receive(event)
    return encoding.target.records
