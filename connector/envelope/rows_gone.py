"""The record that begins a copy: all earlier rows of the table are gone.

It equals the record of a TRUNCATE, with a sequence between two source transactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import BytesWriter

from connector.contract import OP_TRUNCATE
from connector.envelope.record_headers import RecordHeaders, TableHeaders
from connector.envelope.source_block import SourceBlock, SourceTable

if TYPE_CHECKING:
    from connector.envelope.options import EnvelopeOptions
    from connector.progress.between import BetweenSequence
    from connector.records.record import RecordTarget

_TRUNCATE: Final = ord(OP_TRUNCATE)
_US_PER_MS: Final = 1000


def put_rows_gone(
    target: RecordTarget,
    options: EnvelopeOptions,
    database: str,
    table: str,
    schema_id: str,
    file: str,
    sequence: BetweenSequence,
    time_us: int,
    now_us: int,
) -> None:
    """Give `target` the record with `sequence`, in log file `file`.

    The source was at its position at `time_us`. `schema_id` is that of the column list written
    last. In the profile `debezium` there is no such record. Raises the target's errors.
    """
    if options.debezium is not None:
        return
    position = sequence.position + 1
    source = SourceBlock(options)
    source.begin_copy(file, position, time_us, SourceTable(database, table, "true"), now_us)
    out = BytesWriter()
    out.write(b'{"before":null,"after":null')
    source.put(out, _TRUNCATE, 0)
    headers = RecordHeaders()
    headers.begin(
        sequence.epoch,
        sequence.file,
        sequence.position,
        sequence.event,
        TableHeaders(schema_id),
        f"{file}:{position}".encode(),
    )
    target.take(
        options.topics.of(database, table),
        None,
        out.getvalue(),
        headers.encode(_TRUNCATE, sequence.row),
        # Kafka keeps the record from now on.
        now_us // _US_PER_MS,
    )
