"""A story becomes the log files of a server, byte by byte as MySQL or MariaDB write them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Literal
from uuid import UUID

import zstandard

from connector.binlog.events.mariadb import (
    FL_COMPLETED_XA,
    FL_DDL,
    FL_PREPARED_XA,
    FL_STANDALONE,
    FL_TRANSACTIONAL,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.events.transaction import (
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XaPrepareEvent,
    XaXid,
    XidEvent,
)
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.header import EventType
from connector.binlog.payload_reader import encode_lenenc
from tests.binlog.encoders import encoded
from tests.binlog.log_bytes import event, tlv
from tests.golden.golden import FILES, MAGIC
from tests.simulation.story import (
    DATABASE,
    KEYLESS,
    OTHER_TABLE,
    TABLES,
    AddColumn,
    Compressed,
    Create,
    Drop,
    Exchange,
    OnePhase,
    Outcome,
    PartlyRolledBack,
    Prepared,
    RolledBack,
    Rotation,
    Statement,
    Transaction,
    Truncate,
    Unlogged,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.simulation.story import Change, Step, Story

Flavour = Literal["mysql", "mariadb"]

FIRST_POSITION = 4
# Whoever committed first, which every server of a topology keeps.
ORIGIN = UUID("11111111-2222-3333-4444-555555555555")
ORIGIN_ID = 1
_COMMITTED_US = 1_700_000_000_000_000
_IGNORABLE = 0x80
_STATEMENT_END = 1
_TEXT_BYTES_MAX = 120
_TABLE_IDS = {table: number for number, table in enumerate((*TABLES, OTHER_TABLE, KEYLESS), 101)}
_TABLE_IDS_PER_DEFINITION = 10
# Type code of MySQL; MariaDB writes version 1.
_ROWS_TYPES = {
    "c": (EventType.WRITE_ROWS_EVENT, EventType.WRITE_ROWS_EVENT_V1),
    "u": (EventType.UPDATE_ROWS_EVENT, EventType.UPDATE_ROWS_EVENT_V1),
    "d": (EventType.DELETE_ROWS_EVENT, EventType.DELETE_ROWS_EVENT_V1),
}
_PAYLOAD_SIZE, _COMPRESSION, _UNCOMPRESSED_SIZE = 1, 2, 3
_ZSTD = 0

GtidLike = Gtid | MariadbGtid
GtidSetLike = GtidSet | MariadbGtidSet


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event as it is in the file; `gtid` is that of its group."""

    position: int
    data: bytes
    gtid: GtidLike | None

    @property
    def end(self) -> int:
        """The number of the next one."""
        return self.position + len(self.data)


@dataclass(slots=True)
class LogFile:
    """A log file; `previous` is what the files before it hold, on servers with GTIDs."""

    name: str
    previous: GtidSetLike | None
    events: list[LoggedEvent] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The size in bytes."""
        return self.events[-1].end if self.events else FIRST_POSITION


class LogWriter:
    """Writes the files of one server."""

    def __init__(
        self, flavour: Flavour, *, gtid: bool = True, name: str = "binlog", number: int = 1
    ) -> None:
        """Begin with file `number`; without `gtid`, transactions of MySQL are anonymous."""
        self.flavour = flavour
        self.gtid = gtid
        self.files: list[LogFile] = []
        # How many groups are complete at each position where one ends.
        self.groups_before: dict[tuple[str, int], int] = {}
        # When each group was committed; none is before the first one.
        self.committed_us = [0]
        self.executed: GtidSetLike = GtidSet() if flavour == "mysql" else MariadbGtidSet()
        self._name = name
        self._number = number
        self._groups = 0
        # Of each table: columns that were added, and how often it was defined anew.
        self._added: Counter[str] = Counter()
        self._definitions: Counter[str] = Counter()
        self._xid = 0
        self._gtid: GtidLike | None = None
        self._begin_file()
        self.end = self.log_end  # after the last group

    def write(self, story: Story) -> None:
        """Append the steps of a story."""
        for step in story.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """Append one step."""
        if isinstance(step, Rotation):
            self.rotate()
            return
        self._groups += 1
        self.committed_us.append(self._committed_us)
        match step:
            case Compressed() if self.flavour == "mysql":
                self._compressed(step)
            case OnePhase() if self.flavour == "mysql":
                self._xa_group(f"X'{self._groups:04x}',X'',1", step.changes, one_phase=True)
            case Transaction():
                self._transaction(step)
            case Prepared():
                self._xa_group(step.xid, step.changes, one_phase=False)
            case Outcome():
                xid = step.prepared.xid
                self._open(FL_STANDALONE | FL_COMPLETED_XA, _xid_of(xid))
                self._query(f"XA {'COMMIT' if step.committed else 'ROLLBACK'} {xid}")
            case RolledBack():
                self._begin()
                self._rows(step.changes)
                self._query("ROLLBACK")
            case PartlyRolledBack():
                self._partly_rolled_back(step)
            case _:
                self._statement(step)
        self._end_group()

    def _statement(self, step: Step) -> None:
        match step:
            case Truncate() | Statement():
                self._standalone(step.text)
            case AddColumn() | Exchange() | Drop() | Create():
                self._standalone(step.text)
                self._definitions[step.table] += 1
                if isinstance(step, AddColumn):
                    self._added[step.table] += 1
                elif not isinstance(step, Exchange):
                    del self._added[step.table]
            case Unlogged():
                self._begin()
                self._query(f"UPDATE {step.table} SET text = 'x' WHERE id < 5")
                self._commit()
            case _:
                reason = f"no way to write {step}"
                raise NotImplementedError(reason)

    def rotate(self) -> None:
        """End the file, and begin the next one."""
        self._number += 1
        body = FIRST_POSITION.to_bytes(8, "little") + self._file_name.encode()
        self._put(EventType.ROTATE_EVENT, body)
        self._begin_file()

    @property
    def _committed_us(self) -> int:
        """When the current group is committed; MariaDB has whole seconds."""
        step_us = 1000 if self.flavour == "mysql" else 1_000_000
        return _COMMITTED_US + self._groups * step_us

    @property
    def log_end(self) -> tuple[str, int]:
        """The end of the log."""
        return self.files[-1].name, self.files[-1].end

    @property
    def _file_name(self) -> str:
        return f"{self._name}.{self._number:06d}"

    def _begin_file(self) -> None:
        previous = self.executed.copy() if self.gtid or self.flavour == "mariadb" else None
        self.files.append(LogFile(self._file_name, previous))
        self._gtid = None
        self._append(_format_description(self.flavour))
        if isinstance(previous, MariadbGtidSet):
            gtids = encoded(MariadbGtidListEvent(list(previous), 0))
            self._put(EventType.GTID_LIST_EVENT, gtids)
            checkpoint = encoded(BinlogCheckpointEvent(self._file_name))
            self._put(EventType.BINLOG_CHECKPOINT_EVENT, checkpoint)
        else:
            gtids = encoded(PreviousGtidsEvent(previous or GtidSet()))
            self._put(EventType.PREVIOUS_GTIDS_LOG_EVENT, gtids, flags=_IGNORABLE)
        self.groups_before[self.log_end] = self._groups
        self.groups_before[self._file_name, FIRST_POSITION] = self._groups

    def _end_group(self) -> None:
        gtid, executed = self._gtid, self.executed
        self._gtid = None
        if isinstance(gtid, Gtid) and isinstance(executed, GtidSet):
            executed.add(gtid)
        if isinstance(gtid, MariadbGtid) and isinstance(executed, MariadbGtidSet):
            executed.add(gtid)
        self.groups_before[self.log_end] = self._groups
        self.end = self.log_end

    def _transaction(self, step: Transaction) -> None:
        self._begin()
        self._rows(step.changes, step.rows_per_event)
        self._commit()

    def _rows(self, changes: tuple[Change, ...], rows_per_event: int = 2) -> None:
        for type_code, body in self._row_events(changes, rows_per_event):
            self._put(type_code, body)

    def _row_events(
        self, changes: tuple[Change, ...], rows_per_event: int
    ) -> Iterable[tuple[int, bytes]]:
        """Yield type and body of the events that hold rows."""
        for (table, _), alike in groupby(changes, lambda c: (c.table, c.operation)):
            rows = list(alike)
            added = self._added[table]
            table_id = _TABLE_IDS[table] + _TABLE_IDS_PER_DEFINITION * self._definitions[table]
            yield EventType.TABLE_MAP_EVENT, _table_map(table, table_id, added)
            for start in range(0, len(rows), rows_per_event):
                part = rows[start : start + rows_per_event]
                last = start + rows_per_event >= len(rows)
                yield _rows_event(part, table_id, added, self.flavour, last=last)

    def _partly_rolled_back(self, step: PartlyRolledBack) -> None:
        self._begin()
        self._rows(step.before)
        self._query("SAVEPOINT `a`")
        self._rows(step.taken_back)
        self._query("ROLLBACK TO `a`")
        self._rows(step.after)
        self._commit()

    def _xa_group(self, xid: str, changes: tuple[Change, ...], *, one_phase: bool) -> None:
        parsed = _xid_of(xid)
        self._open(FL_PREPARED_XA | FL_TRANSACTIONAL, parsed)
        if self.flavour == "mysql":
            self._query(f"XA START {xid}")
        self._rows(changes)
        self._query(f"XA END {xid}")
        self._put(EventType.XA_PREPARE_LOG_EVENT, encoded(XaPrepareEvent(one_phase, parsed)))

    def _compressed(self, step: Compressed) -> None:
        self._open()
        inner = [
            event(type_code, body, checksum=False, timestamp=1_700_000_000)
            for type_code, body in (
                (EventType.QUERY_EVENT, _query_body("BEGIN")),
                *self._row_events(step.changes, step.rows_per_event),
                (EventType.XID_EVENT, encoded(XidEvent(self._next_xid()))),
            )
        ]
        plain = b"".join(inner)
        payload = zstandard.ZstdCompressor().compress(plain)
        fields = (
            (_COMPRESSION, encode_lenenc(_ZSTD)),
            (_UNCOMPRESSED_SIZE, encode_lenenc(len(plain))),
            (_PAYLOAD_SIZE, encode_lenenc(len(payload))),
        )
        head = b"".join(tlv(number, value) for number, value in fields)
        self._put(EventType.TRANSACTION_PAYLOAD_EVENT, head + b"\0" + payload)

    def _begin(self) -> None:
        self._open()
        if self.flavour == "mysql":
            self._query("BEGIN")

    def _commit(self) -> None:
        self._put(EventType.XID_EVENT, encoded(XidEvent(self._next_xid())))

    def _standalone(self, text: str) -> None:
        self._open(FL_STANDALONE | FL_DDL)
        self._query(text)

    def _query(self, text: str) -> None:
        self._put(EventType.QUERY_EVENT, _query_body(text))

    def _open(self, mariadb_flags: int = FL_TRANSACTIONAL, xid: XaXid | None = None) -> None:
        """Write the event that begins a group."""
        number, committed_us = self._groups, self._committed_us
        if self.flavour == "mariadb":
            gtid = MariadbGtid(0, ORIGIN_ID, number)
            self._gtid = gtid
            body = encoded(MariadbGtidEvent(gtid, mariadb_flags, None, xid, rest=bytes(6)))
            self._put(EventType.GTID_EVENT, body)
            return
        facts = (0, number - 1, number, committed_us, committed_us, 0, 80031, 80031, None)
        if not self.gtid:
            body = encoded(AnonymousGtidEvent(*facts))
            self._put(EventType.ANONYMOUS_GTID_LOG_EVENT, body)
            return
        self._gtid = Gtid(ORIGIN, number)
        self._put(EventType.GTID_LOG_EVENT, encoded(GtidEvent(*facts, self._gtid)))

    def _next_xid(self) -> int:
        self._xid += 1
        return self._xid

    def _put(self, type_code: int, body: bytes, *, flags: int = 0) -> None:
        size = 19 + len(body) + 4
        self._append(
            event(
                type_code,
                body,
                log_pos=self.files[-1].end + size,
                flags=flags,
                timestamp=1_700_000_000 + self._groups,
                server_id=ORIGIN_ID,
            )
        )

    def _append(self, data: bytes) -> None:
        file = self.files[-1]
        file.events.append(LoggedEvent(file.end, data, self._gtid))


def _format_description(flavour: Flavour) -> bytes:
    """Return what a real server begins its files with."""
    folder = "mysql-8.0.31" if flavour == "mysql" else "mariadb-11.8.6"
    data = (FILES / folder / "types.000001").read_bytes().removeprefix(MAGIC)
    return data[: int.from_bytes(data[9:13], "little")]


def _query_body(text: str) -> bytes:
    schema = DATABASE.encode()
    head = (9).to_bytes(4, "little") + bytes(4) + bytes([len(schema)]) + bytes(4)
    return head + schema + b"\0" + text.encode()


def _xid_of(text: str) -> XaXid:
    """Read the form in which statements have it: `X'6f6e65',X'',1`."""
    gtrid, bqual, format_id = text.split(",")
    return XaXid(int(format_id), *(bytes.fromhex(part[2:-1]) for part in (gtrid, bqual)))


def _table_map(table: str, table_id: int, added: int) -> bytes:
    names = [b"id", b"text", *(b"more%d" % number for number in range(added))]
    can_be_null = (1 << len(names)) - 2
    return (
        table_id.to_bytes(6, "little")
        + b"\x01\x00"
        + b"".join(
            bytes([len(name)]) + name + b"\0" for name in (DATABASE.encode(), table.encode())
        )
        + bytes([len(names)])
        + b"\x03\x0f"
        + b"\x03" * added
        + b"\x02"
        + _TEXT_BYTES_MAX.to_bytes(2, "little")
        + can_be_null.to_bytes(1, "little")
        + tlv(1, b"\x00")
        + tlv(2, b"\x2d")
        + tlv(4, b"".join(bytes([len(name)]) + name for name in names))
        + (b"" if table == KEYLESS else tlv(8, b"\x00"))
    )


def _rows_event(
    rows: list[Change], table_id: int, added: int, flavour: Flavour, *, last: bool
) -> tuple[int, bytes]:
    operation = rows[0].operation
    flags = _STATEMENT_END if last else 0
    head = table_id.to_bytes(6, "little") + flags.to_bytes(2, "little")
    if flavour == "mysql":
        head += b"\x02\x00"
    columns = bytes([2 + added, (1 << (2 + added)) - 1])
    head += columns + (columns[1:] if operation == "u" else b"")
    nulls = bytes([((1 << added) - 1) << 2])
    images = b"".join(nulls + image for row in rows for image in _images(row))
    return _ROWS_TYPES[operation][flavour == "mariadb"], head + images


def _images(row: Change) -> list[bytes]:
    if row.operation != "u":
        return [_image(row.id, row.text)]
    if row.new_id is not None:
        return [_image(row.id, row.text), _image(row.new_id, row.text)]
    return [_image(row.id, "before"), _image(row.id, row.text)]


def _image(row_id: int, text: str) -> bytes:
    data = text.encode()
    return row_id.to_bytes(4, "little", signed=True) + bytes([len(data)]) + data
