"""Reads a range of one server's log, and lets a comparison expect the records of its changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from connector.binlog.decoder import EventDecoder
from connector.binlog.framing.log_position import file_number
from connector.changes.assembler import TransactionAssembler
from connector.changes.online_schema_change import OnlineChanges
from connector.contract import Sequence
from connector.envelope.record_encoder import RecordEncoder
from connector.envelope.transaction_records import TransactionRecords
from connector.errors import DefiniteError, TransientError, proof
from connector.progress.stream_position import StreamPosition
from connector.proof.expected_changes import ExpectedChanges
from connector.proof.outcome import Place
from connector.snapshot.record_options import record_options
from connector.system.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.changes.table_filter import TableFilter
    from connector.proof.comparison import Comparison
    from connector.proof.known_schemas import KnownSchemas
    from connector.proof.span import Span
    from connector.records.record import RecordTarget
    from connector.settings.sections import Settings

_RECEIVE_SECONDS = 1.0
_SHOW_SECONDS = 0.2


class LogReading:
    """The encoder of the pipeline, with a comparison as its target."""

    def __init__(
        self,
        settings: Settings,
        span: Span,
        tables: TableFilter,
        comparison: Comparison,
        schemas: KnownSchemas,
        rolled_back: frozenset[str],
    ) -> None:
        """Read `span`; groups in `rolled_back` are known to end in a rollback."""
        self._span = span
        self._comparison = comparison
        source, last, prefix = span.source, span.last, settings.kafka.topic_prefix
        flavour = source.identity.flavour
        self._standing = standing = StreamPosition(
            source.identity, source.point, last, source=source.address, first_epoch=span.epoch
        )
        target: RecordTarget = comparison
        transactions = None
        if settings.delivery.transaction_records:
            target = transactions = TransactionRecords(prefix, target)
        options = record_options(settings, flavour, comparison.values)
        encoder = RecordEncoder(options, standing.order, target)
        schemas.tell(encoder.schemas)
        encoder.tables.unlogged = schemas.unlogged
        self._expected = ExpectedChanges(
            encoder, comparison, schemas, standing, transactions, span.delivered
        )
        point = source.point
        self._decoder = EventDecoder(
            file=point.file, position=point.position, mariadb=flavour == "mariadb"
        )
        self._assembler = TransactionAssembler(
            tables,
            self._expected,
            TemporaryFolder(),
            lower_case_names=source.lower_case_names,
            online=OnlineChanges.of_record(
                last.online_changes if last is not None else {},
                keeps_rows=settings.schema.on_cut_over == "keep",
            ),
            columns=encoder.schemas,
            prepared=standing.prepared_xa.without_rows(),
            reread=standing.reread(),
            rolled_back=rolled_back,
        )

    @property
    def count(self) -> int:
        """The transactions that were read."""
        return self._expected.count

    @property
    def place(self) -> Place:
        """The end of what was read."""
        standing = self._standing
        gtids = None if standing.gtid_set is None else str(standing.gtid_set)
        return Place(standing.file, standing.position, gtids)

    def read(self, show: Callable[[int, int], None]) -> None:
        """Read to the end of the range; tell `show` the bytes that were read, and all bytes.

        Raises SourceUnavailable, SourceRefused or TransientError; RolledBack for a group whose
        rows were expected before its end was known.
        """
        if self._span.follows:
            self._comparison.go_on(self._expected.end)
        elif self._standing.file:
            self._comparison.begin(self._expected.end)
        try:
            if not self._span.until.reached(self._standing):
                self._read(show)
        finally:
            self._assembler.close()
        end = self._expected.end
        self._comparison.end(Sequence(end.epoch, end.file, end.position + 1, 0, 0))

    def _read(self, show: Callable[[int, int], None]) -> None:
        standing, expected, span = self._standing, self._expected, self._span
        all_bytes = self._bytes_to(span.delivered.file, span.delivered.position)
        first = self._bytes_to(standing.file, standing.position)
        count = 0
        shown = time.monotonic()
        with span.source.open_stream("binlog-verify", stop_at_end=True) as stream:
            while True:
                data = stream.events.next_event()
                if data is None:
                    if stream.ended:
                        raise self._ended()
                    stream.fill(_RECEIVE_SECONDS)
                    continue
                self._assembler.receive(self._decoder.open(data))
                if expected.count == count:
                    continue
                count = expected.count
                if span.until.reached(standing):
                    return
                if time.monotonic() - shown > _SHOW_SECONDS:
                    shown = time.monotonic()
                    read = self._bytes_to(standing.file, standing.position)
                    show(read - first, all_bytes - first)

    def _ended(self) -> Exception:
        """Return the error for a log that ends before the range does."""
        standing, delivered = self._standing, self._span.delivered
        if standing.file and (file_number(standing.file), standing.position) >= (
            file_number(delivered.file),
            delivered.position,
        ):
            return TransientError(
                proof.NOT_DELIVERED,
                file=delivered.file,
                position=delivered.position,
                wanted=self._span.until.text,
            )
        return DefiniteError(
            proof.LOG_ENDS,
            source=self._span.source.address,
            found=f"{standing.file}:{standing.position}",
            file=delivered.file,
            position=delivered.position,
        )

    def _bytes_to(self, file: str, position: int) -> int:
        """Return the bytes of the log before a position."""
        before = 0
        for name, size in self._span.logs.items():
            if name == file or not file:
                break
            before += size
        return before + position
