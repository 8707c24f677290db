"""Events become counts: by type, by table, by transaction.

`add` takes one event. `GroupCounts` takes most events of a log from their bytes, and gives what it
finds there to the same counters.

*Memory.* Counters for each event type, table and server, GTIDs as intervals, and the largest
transactions; single events take none.
"""

from collections import Counter
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import Final, final

from mypy_extensions import i64

from connector.binlog.event import Event, TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import INSERT, UPDATE, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid
from connector.binlog.header import (
    LOG_EVENT_ARTIFICIAL_F,
    PARTIAL_ROW_DATA,
    TRANSACTION_PAYLOAD,
    event_name,
)
from connector.binlog.log_errors import EventError
from connector.binlog.transactions import transaction_bounds

LARGEST_TRANSACTIONS: Final = 10

# No time, and no server.
_LATE: Final = 1 << 40
_NONE: Final = -1


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

    def add(self, kind: RowsKind, rows: int) -> None:
        """Count the rows of an event of this kind."""
        if kind is INSERT:
            self.inserts += rows
        elif kind is UPDATE:
            self.updates += rows
        else:
            self.deletes += rows

    @property
    def rows(self) -> int:
        """Inserted, updated and deleted rows together."""
        return self.inserts + self.updates + self.deletes


@dataclass(slots=True)
class TransactionCount:
    """One transaction."""

    span: transaction_bounds.TransactionSpan
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


@final
class Statistics:
    """Counts the events of files, in their order."""

    def __init__(self) -> None:
        self.files: dict[str, Count] = {}
        self.events: dict[str, Count] = {}
        self._counts: list[Count | None] = [None] * 256  # the same, by type code
        self.payloads = Payloads()
        self.tables: dict[tuple[str, str], TableCount] = {}
        self.server_versions: dict[str, None] = {}  # an ordered set
        # Of the earliest and the latest event, in seconds since the epoch.
        self._earliest: i64 = _LATE
        self._latest: i64 = _NONE
        self.gtids = GtidSet()
        self.mariadb_gtids: dict[tuple[int, int], SequenceRange] = {}  # by domain and server
        self.transactions = Count()
        self.peak: i64 = 0  # transactions that ended within one second
        self.peak_timestamp: int | None = None
        self._second: i64 = _NONE
        self._in_second: i64 = 0
        self._server_ids: Counter[int] = Counter()
        # The events since the server was another one, which are not counted there yet.
        self._server_id: i64 = _NONE
        self._server_events: i64 = 0
        self._bounds = transaction_bounds.TransactionBounds()
        self._current: TransactionCount | None = None
        self._largest: list[tuple[int, int, TransactionCount]] = []

    def add(self, event: Event) -> None:
        """Count one event; the events of a file come in their order.

        Raises EventError if its body cannot be read.
        """
        header = event.header
        self.count_event(
            self.count_of_file(event.file),
            header.type_code,
            header.timestamp,
            header.server_id,
            header.flags,
            header.event_size,
        )
        self._add_body(event)
        if header.type_code == TRANSACTION_PAYLOAD:
            body = event.body
            assert isinstance(body, TransactionPayloadEvent)
            self.payloads.count += 1
            self.payloads.compressed_bytes += body.payload.size
            self.payloads.uncompressed_bytes += body.payload.uncompressed_size
            for inner in body.opened():
                self._add_body(inner)
                name = event_name(inner.header.type_code)
                self.payloads.events.setdefault(name, Count()).add(inner.header.event_size)

    @property
    def is_between(self) -> bool:
        """Whether no transaction is open."""
        return self._bounds.is_outside

    @property
    def server_ids(self) -> Counter[int]:
        """The number of events by the id of the server that wrote them first."""
        self._count_server()
        return self._server_ids

    @property
    def largest_transactions(self) -> list[TransactionCount]:
        """The transactions with the most bytes, the largest first."""
        return [count for _, _, count in sorted(self._largest, key=lambda entry: entry[:2])][::-1]

    @property
    def first_timestamp(self) -> int | None:
        """Seconds since the epoch, of the earliest event."""
        return None if self._latest == _NONE else self._earliest

    @property
    def last_timestamp(self) -> int | None:
        """Seconds since the epoch, of the latest event."""
        return None if self._latest == _NONE else self._latest

    @property
    def seconds(self) -> int:
        """Seconds from the earliest event to the latest."""
        return 0 if self._latest == _NONE else self._latest - self._earliest

    def count_of_file(self, name: str) -> Count:
        """Return the count of the events of a file."""
        count = self.files.get(name)
        if count is None:
            count = self.files[name] = Count()
        return count

    def count_of_table(self, table_map: TableMapEvent) -> TableCount:
        """Return the count of the rows of a table."""
        name = (table_map.schema, table_map.table)
        count = self.tables.get(name)
        if count is None:
            count = self.tables[name] = TableCount()
        return count

    def count_event(
        self, file: Count, type_code: i64, timestamp: i64, server_id: i64, flags: i64, size: i64
    ) -> None:
        """Count an event of `file`, by the facts of its header."""
        count = self._counts[type_code]
        if count is None:
            # Some types that have no name share one.
            count = self.events.setdefault(event_name(type_code), Count())
            self._counts[type_code] = count
        count.add(size)
        file.add(size)
        if server_id != self._server_id:
            self._count_server()
            self._server_id = server_id
        self._server_events += 1
        # Events that the server made up have the timestamp 0.
        if timestamp and not flags & LOG_EVENT_ARTIFICIAL_F:
            self._earliest = min(self._earliest, timestamp)
            self._latest = max(self._latest, timestamp)

    def end_transaction(
        self, size: i64, gtid: Gtid | MariadbGtid | None, last_timestamp: i64
    ) -> bool:
        """Count a transaction; return whether it is one of the largest so far."""
        self.transactions.add(size)
        if isinstance(gtid, Gtid):
            self.gtids.add(gtid)
        elif isinstance(gtid, MariadbGtid):
            self._add_mariadb_gtid(gtid)
        if last_timestamp == self._second:
            self._in_second += 1
        else:
            self._second = last_timestamp
            self._in_second = 1
        if self._in_second > self.peak:
            self.peak = self._in_second
            self.peak_timestamp = last_timestamp
        # Among equals, the earlier ones stay.
        return len(self._largest) < LARGEST_TRANSACTIONS or size > self._largest[0][0]

    def keep_large(self, transaction: TransactionCount) -> None:
        """Keep the transaction that ended last, because it is one of the largest so far."""
        entry = (transaction.bytes, -self.transactions.count, transaction)
        if len(self._largest) < LARGEST_TRANSACTIONS:
            heappush(self._largest, entry)
        else:
            heappushpop(self._largest, entry)

    def _count_server(self) -> None:
        if self._server_events:
            self._server_ids[self._server_id] += self._server_events
            self._server_events = 0

    def _add_body(self, event: Event) -> None:
        """Count what the event, which may lie in a payload, means for transactions and rows."""
        self._add_to_transaction(event)
        type_code = event.type_code
        meaning = transaction_bounds.ROLE_OF_TYPE[type_code]
        if meaning == transaction_bounds.ROLE_ROWS or type_code == PARTIAL_ROW_DATA:
            rows = transaction_bounds.rows_event_of(event.body)
            if rows is not None and not rows.is_dummy:
                self._add_rows(event, rows)
        elif meaning == transaction_bounds.ROLE_OTHER:
            body = event.body
            if isinstance(body, (FormatDescriptionEvent, StartEventV3)):
                self.server_versions[body.server_version] = None

    def _add_rows(self, event: Event, body: RowsEvent) -> None:
        table = self.count_of_table(body.table_map)
        table.bytes += event.header.event_size
        try:
            rows = body.count()
        except EventError:
            table.refused_events += 1
            return
        table.add(body.kind, rows)
        if self._current is not None:
            self._current.rows += rows

    def _add_to_transaction(self, event: Event) -> None:
        ended = self._bounds.receive(event)
        span = self._bounds.span
        if span is None:
            self._current = None
            return
        current = self._current
        if current is None or current.span is not span:
            current = self._current = TransactionCount(span)
        if ended and self.end_transaction(current.bytes, span.gtid, span.last_timestamp):
            self.keep_large(current)

    def _add_mariadb_gtid(self, gtid: MariadbGtid) -> None:
        key = (gtid.domain_id, gtid.server_id)
        known = self.mariadb_gtids.get(key)
        if known is None:
            self.mariadb_gtids[key] = SequenceRange(gtid.sequence, gtid.sequence)
        else:
            known.first = min(known.first, gtid.sequence)
            known.last = max(known.last, gtid.sequence)
            known.count += 1
