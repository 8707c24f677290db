"""Writes changes to `<prefix>.quarantine`."""

from typing import final

from connector.binlog.decoder import EventDecoder
from connector.foundation import contract, control_records
from connector.foundation.kafka_records import NO_HEADERS, RecordTarget
from connector.stream.changes.transaction import RowsChange, StatementChange
from connector.stream.envelope.copied_chunk import CopyPosition, RefusedRow
from connector.stream.envelope.event_encoder import US_PER_MS
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.quarantine import records

# The most that Kafka adds to a record's key and value.
_OVERHEAD_BYTES = 256


@final
class QuarantineStore:
    """Writes the quarantine records of one pipeline."""

    def __init__(
        self,
        options: EnvelopeOptions,
        pipeline: str,
        encoder: RecordEncoder,
        decoder: EventDecoder,
        target: RecordTarget,
        record_bytes_max: int,
    ) -> None:
        """Take sequences from `encoder`; `decoder` knows the format of the log."""
        self._topic = contract.control_topic(options.prefix, contract.QUARANTINE_TOPIC_SUFFIX)
        self._flavour = options.connector
        self._chosen = options.columns
        self._pipeline = pipeline
        self._encoder = encoder
        self._decoder = decoder
        self._target = target
        self._record_bytes_max = record_bytes_max

    def rows(
        self,
        change: RowsChange,
        kept: list[control_records.QuarantinedRow],
        rest: int | None,
        error: str,
        schema_id: str,
        now_us: int,
    ) -> None:
        """Write a rows event: the rows in `kept`, and all from number `rest` on.

        Raises RecordTooLarge if that is impossible, and the target's errors.
        """
        table_map = change.rows.table_map
        first = kept[0]["row"] if kept else rest or 0
        event, checksummed = records.event_bytes(change.event, change.rows)
        self._write(
            change,
            first,
            event,
            now_us,
            kind=records.ROWS,
            database=table_map.schema,
            table=table_map.table,
            rows=kept,
            rest=rest,
            error=error,
            schema_id=schema_id,
            table_map=records.base64_text(table_map.raw),
            checksummed=checksummed,
            query="",
        )

    def statement(self, change: StatementChange, kind: str, error: str, now_us: int) -> None:
        """Write a statement; raises as `rows` does."""
        event, checksummed = records.event_bytes(change.event, None)
        self._write(
            change,
            0,
            event,
            now_us,
            kind=kind,
            database=change.database,
            table=change.table,
            rows=[],
            rest=None,
            error=error,
            schema_id="",
            table_map="",
            checksummed=checksummed,
            query=change.query,
        )

    def copied(
        self,
        schema: TableSchema,
        row: RefusedRow,
        key: str | None,
        read_at: CopyPosition,
        seq: str,
        now_us: int,
    ) -> None:
        """Write a row that a copy has read at the position `read_at`.

        It is kept because of its `key`, or without one because of the whole table. Raises as `rows`
        does.
        """
        kept: list[control_records.QuarantinedRow] = []
        if key is not None:
            kept.append({"row": 0, "keys": [key], "error": str(row.error)})
        record = records.new_record(
            kind=records.COPIED,
            seq=seq,
            pipeline=self._pipeline,
            database=schema.database,
            table=schema.table,
            rows=kept,
            rest=None if kept else 0,
            error=str(row.error),
            file=read_at.file,
            position=read_at.position,
            event_number=0,
            flavour=self._flavour,
            transaction=f"{read_at.file}:{read_at.position}",
            transaction_file=read_at.file,
            transaction_position=read_at.position,
            gtid=None,
            committed_us=read_at.time_us,
            server_id=0,
            thread_id=None,
            schema_id=schema.schema_id,
            format_description="",
            table_map="",
            checksummed=False,
            query="",
            quarantined_at_ms=now_us // US_PER_MS,
        )
        self._take(record, row.data, now_us)

    def _hides(self, record: control_records.QuarantineRecord) -> bool:
        """Return whether a change may have values that must not leave the process."""
        chosen = self._chosen
        if chosen is None or record["kind"] == records.GONE:
            return False
        # A statement may name values of any table.
        if record["kind"] == records.STATEMENT:
            return bool(chosen.patterns)
        return chosen.hides(record["database"], record["table"])

    def _write(
        self,
        change: RowsChange | StatementChange,
        first: int,
        data: bytes,
        now_us: int,
        **values: object,
    ) -> None:
        transaction = change.transaction
        record: control_records.QuarantineRecord = records.new_record(
            seq=str(self._encoder.sequence(transaction, change.event_number, first)),
            pipeline=self._pipeline,
            file=change.event.file,
            position=change.event.position,
            event_number=change.event_number,
            flavour=self._flavour,
            transaction=transaction.id,
            transaction_file=transaction.file,
            transaction_position=transaction.position,
            gtid=None if transaction.gtid is None else str(transaction.gtid),
            committed_us=transaction.committed_us,
            server_id=transaction.server_id,
            thread_id=transaction.thread_id,
            format_description=records.base64_text(self._decoder.format_data),
            quarantined_at_ms=now_us // US_PER_MS,
            **values,
        )
        self._take(record, data, now_us)

    def _take(self, record: control_records.QuarantineRecord, data: bytes, now_us: int) -> None:
        key = f"{self._pipeline}/{record['database']}.{record['table']}".encode()
        bytes_max = self._record_bytes_max - len(key) - _OVERHEAD_BYTES
        if self._hides(record) or not records.has_room(record, bytes_max):
            record, data = records.without_rows(record), b""
        for value in records.record_values(record, data, bytes_max):
            self._target.take(self._topic, key, value, NO_HEADERS, now_us // US_PER_MS)
