"""Small log files, laid out by hand, with every event's position in its header."""

from __future__ import annotations

from uuid import UUID

from connector.binlog.columns.column import ColumnType
from connector.binlog.header import EventType
from tests.binlog.log_bytes import event, format_description, table_map, tlv

MAGIC = b"\xfebin"
SERVER = UUID("6cea54ad-dde6-11e9-9505-525400d0702c")
COLUMNS: list[tuple[ColumnType, bytes]] = [(ColumnType.LONG, b""), (ColumnType.VARCHAR, b"\x14\0")]
NAMED = tlv(4, b"\x02id\x04name") + tlv(3, b"\x2d")


class LogFile:
    """A log that grows; `data` is all of it."""

    def __init__(self, *, checksum: bool = True, in_use: bool = False) -> None:
        self.checksum = checksum
        first = bytearray(format_description(algorithm=int(checksum)))
        # The server sets the flag without the checksum.
        first[17] = in_use
        self.data = MAGIC + first
        self.positions: list[int] = [4]  # of each event
        self._gno = 0

    def add(self, event_type: int, body: bytes, *, timestamp: int = 1, flags: int = 0) -> int:
        """Append an event and return its position."""
        size = 19 + len(body) + (4 if self.checksum else 0)
        position = len(self.data)
        self.data += event(
            event_type,
            body,
            log_pos=position + size,
            timestamp=timestamp,
            flags=flags,
            checksum=self.checksum,
        )
        self.positions.append(position)
        return position

    def gtid(self, *, timestamp: int = 1) -> int:
        """Begin the next transaction."""
        self._gno += 1
        body = b"\x01" + SERVER.bytes + self._gno.to_bytes(8, "little")
        return self.add(EventType.GTID_LOG_EVENT, body, timestamp=timestamp)

    def query(
        self,
        text: str | bytes,
        *,
        thread_id: int = 7,
        timestamp: int = 1,
        schema: str = "db",
        variables: bytes = b"",
    ) -> int:
        """Append a statement; `variables` are its status variables."""
        head = thread_id.to_bytes(4, "little") + bytes(4) + bytes([len(schema)]) + bytes(2)
        head += len(variables).to_bytes(2, "little") + variables + schema.encode() + b"\0"
        data = text.encode() if isinstance(text, str) else text
        return self.add(EventType.QUERY_EVENT, head + data, timestamp=timestamp)

    def table_map(self, optional: bytes = NAMED) -> int:
        return self.add(EventType.TABLE_MAP_EVENT, table_map(COLUMNS, optional))

    def insert(self, *rows: tuple[int, str], timestamp: int = 1) -> int:
        return self.add(
            EventType.WRITE_ROWS_EVENT,
            rows_head(after=b"\x03") + b"".join(image(*row) for row in rows),
            timestamp=timestamp,
        )

    def transaction(self, *rows: tuple[int, str], timestamp: int = 1) -> int:
        """Append a transaction that inserts rows into db.t, and return its position."""
        position = self.gtid(timestamp=timestamp)
        self.query("BEGIN", timestamp=timestamp)
        self.table_map()
        self.insert(*rows, timestamp=timestamp)
        self.add(EventType.XID_EVENT, bytes(8), timestamp=timestamp)
        return position

    def rotate(self, name: str) -> int:
        return self.add(EventType.ROTATE_EVENT, (4).to_bytes(8, "little") + name.encode())


def rows_head(**columns_present: bytes) -> bytes:
    """Return a rows event of table 42 up to its images; it ends the statement."""
    return (42).to_bytes(6, "little") + b"\1\0\2\0\2" + b"".join(columns_present.values())


def image(number: int, name: str) -> bytes:
    """Return the image of a row of `COLUMNS`, with both of its columns."""
    return b"\0" + number.to_bytes(4, "little") + bytes([len(name)]) + name.encode()


def three_transactions() -> LogFile:
    """A log of three transactions at 100, 200 and 300 seconds, with one row, two and one."""
    log = LogFile()
    log.transaction((1, "a"), timestamp=100)
    log.transaction((2, "b"), (3, "c"), timestamp=200)
    log.transaction((4, "d"), timestamp=300)
    return log
