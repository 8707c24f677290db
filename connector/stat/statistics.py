"""Events become counts: by type, by table, by transaction.

*Memory.* Counters for each event type, table and server, GTIDs as intervals, and the largest
transactions; single events take none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.rows_head import RowsKind
from connector.binlog.framing.event_types import event_name
from connector.changes.transaction_bounds import TransactionBounds, rows_of, with_inner_events
from connector.errors import EventError
from connector.gtid import Gtid, GtidSet, MariadbGtid

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from connector.binlog.events.rows import RowsEvent
    from connector.changes.transaction_bounds import TransactionSpan

LARGEST_TRANSACTIONS = 10


@dataclass(slots=True)
class Count:
    """A number of events, and their bytes."""

    count: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        """Count one event of `size` bytes."""
        self.count += 1
        self.bytes += size


@dataclass(slots=True)
class TableCount:
    """Rows of one table, and the bytes of the events that hold them."""

    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    bytes: int = 0
    refused_events: int = 0  # rows events whose rows cannot be read, so their rows are not counted

    @property
    def rows(self) -> int:
        """Inserted, updated and deleted rows together."""
        return self.inserts + self.updates + self.deletes


@dataclass(slots=True)
class TransactionCount:
    """One transaction."""

    span: TransactionSpan
    rows: int = 0

    @property
    def bytes(self) -> int:
        """Its bytes in the file."""
        return self.span.next_position - self.span.position

    @property
    def seconds(self) -> int:
        """Seconds from its first statement to its last."""
        return self.span.last_timestamp - self.span.first_timestamp


@dataclass(slots=True)
class Payloads:
    """Compressed transactions; inner events are counted apart, as they are not in the file."""

    count: int = 0
    compressed_bytes: int = 0
    uncompressed_bytes: int = 0
    events: dict[str, Count] = field(default_factory=dict)


@dataclass(slots=True)
class SequenceRange:
    """The GTIDs of one MariaDB domain and server."""

    first: int
    last: int
    count: int = 1


class Statistics:
    """Counts the events of files, in their order."""

    def __init__(self) -> None:
        """Start with all counts 0."""
        self.files: dict[str, Count] = {}
        self.events: dict[str, Count] = {}
        self.payloads = Payloads()
        self.tables: dict[tuple[str, str], TableCount] = {}
        self.server_versions: dict[str, None] = {}  # an ordered set
        self.server_ids: Counter[int] = Counter()
        self.first_timestamp: int | None = None  # seconds since the epoch
        self.last_timestamp: int | None = None
        self.gtids = GtidSet()
        self.mariadb_gtids: dict[tuple[int, int], SequenceRange] = {}  # by domain and server
        self.transactions = Count()
        self.peak = 0  # transactions that ended within one second
        self.peak_timestamp: int | None = None
        self._second = (-1, 0)
        self._bounds = TransactionBounds()
        self._current: TransactionCount | None = None
        self._largest: list[tuple[int, int, TransactionCount]] = []

    def add(self, event: Event) -> None:
        """Count one event; the events of a file come in their order.

        Raises EventError if a compressed transaction cannot be read.
        """
        name = event_name(event.header.type_code)
        size = event.header.event_size
        self.files.setdefault(event.file, Count()).add(size)
        self.events.setdefault(name, Count()).add(size)
        self.server_ids[event.header.server_id] += 1
        self._add_time(event)
        for inner in with_inner_events(event):
            self._add_to_transaction(inner)
            body = inner.body
            rows = rows_of(body)
            if rows is not None and not rows.is_dummy:
                self._add_rows(inner, rows)
            elif isinstance(body, TransactionPayloadEvent):
                self.payloads.count += 1
                self.payloads.compressed_bytes += body.payload_size
                self.payloads.uncompressed_bytes += body.uncompressed_size
            elif isinstance(body, (FormatDescriptionEvent, StartEventV3)):
                self.server_versions[body.server_version] = None
            if inner is not event:
                name = event_name(inner.header.type_code)
                self.payloads.events.setdefault(name, Count()).add(inner.header.event_size)

    @property
    def largest_transactions(self) -> list[TransactionCount]:
        """The transactions with the most bytes, the largest first."""
        return [count for _, _, count in sorted(self._largest, key=lambda entry: entry[:2])][::-1]

    @property
    def seconds(self) -> int:
        """Seconds from the earliest event to the latest."""
        if self.first_timestamp is None or self.last_timestamp is None:
            return 0
        return self.last_timestamp - self.first_timestamp

    def _add_time(self, event: Event) -> None:
        timestamp = event.header.timestamp
        # Events that the server made up have the timestamp 0.
        if timestamp and not event.header.artificial:
            first, last = self.first_timestamp, self.last_timestamp
            self.first_timestamp = timestamp if first is None else min(first, timestamp)
            self.last_timestamp = timestamp if last is None else max(last, timestamp)

    def _add_rows(self, event: Event, body: RowsEvent) -> None:
        name = (body.table_map.schema, body.table_map.table)
        table = self.tables.setdefault(name, TableCount())
        table.bytes += event.header.event_size
        try:
            rows = sum(1 for _ in body.rows())
        except EventError:
            table.refused_events += 1
            return
        if body.kind is RowsKind.INSERT:
            table.inserts += rows
        elif body.kind is RowsKind.UPDATE:
            table.updates += rows
        else:
            table.deletes += rows
        if self._current is not None:
            self._current.rows += rows

    def _add_to_transaction(self, event: Event) -> None:
        ended = self._bounds.receive(event)
        span = self._bounds.span
        if span is None:
            self._current = None
            return
        if self._current is None or self._current.span is not span:
            self._current = TransactionCount(span)
        if ended:
            self._end_transaction(self._current)

    def _end_transaction(self, transaction: TransactionCount) -> None:
        span = transaction.span
        self.transactions.add(transaction.bytes)
        if isinstance(span.gtid, Gtid):
            self.gtids.add(span.gtid)
        elif isinstance(span.gtid, MariadbGtid):
            self._add_mariadb_gtid(span.gtid)
        second, count = self._second
        count = count + 1 if second == span.last_timestamp else 1
        self._second = (span.last_timestamp, count)
        if count > self.peak:
            self.peak, self.peak_timestamp = count, span.last_timestamp
        # Among equals, the earlier ones stay.
        entry = (transaction.bytes, -self.transactions.count, transaction)
        if len(self._largest) < LARGEST_TRANSACTIONS:
            heappush(self._largest, entry)
        else:
            heappushpop(self._largest, entry)

    def _add_mariadb_gtid(self, gtid: MariadbGtid) -> None:
        key = (gtid.domain_id, gtid.server_id)
        known = self.mariadb_gtids.get(key)
        if known is None:
            self.mariadb_gtids[key] = SequenceRange(gtid.sequence, gtid.sequence)
        else:
            known.first = min(known.first, gtid.sequence)
            known.last = max(known.last, gtid.sequence)
            known.count += 1
