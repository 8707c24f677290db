"""What is fuzzed: bytes in; out comes nothing, or one of our errors; everything else is a finding.

Each target is a function of the input alone. `seeds` gives it real bytes to start from.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from connector.binlog.columns.json_document import json_text
from connector.binlog.decoder import EventDecoder
from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.binlog.header import EventType
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import ConfigError, DecodeError, UnsupportedChange
from connector.foundation.settings.envelope import FilterSettings
from connector.reader import open_binlog
from connector.replication.protocol.event_stream import EventStream
from connector.stream.envelope.debezium.row_filter import FilteredTable
from connector.stream.source.row_filters import ConditionFilters
from tests.binlog.log_bytes import FORMAT_DESCRIPTION, event, table_map_of_every_type
from tests.fuzz import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event
    from connector.foundation.contract import SchemaColumn

TESTS = Path(__file__).parents[1]
FOLDERS = (TESTS / "golden" / "files", TESTS.parents[1] / "shared" / "binlogs")

# A seed that is much larger than what it shows makes the fuzzer slow.
SEED_BYTES_MAX = 64 * 1024

_CHUNKS = (1, 3, 7, 64, 4096)


def consume(decoded: Event) -> None:
    """Look at everything that an event holds."""
    body = decoded.body
    if isinstance(body, RowsEvent):
        for _ in body.rows():
            pass
    elif isinstance(body, TransactionPayloadEvent):
        for inner in body.events():
            consume(inner)


def log_file(data: bytes) -> None:
    """Read the bytes as a file: magic, version, framing, events, rows."""
    with suppress(DecodeError), open_binlog(data, verify_checksum=False) as log:
        for decoded in log:
            consume(decoded)


def one_event(data: bytes) -> None:
    """Decode one event whose type, flags and body are the bytes, behind a table map."""
    if len(data) < 1 + 1:
        return
    decoder = EventDecoder(file="binlog.000001")
    decoder.decode(FORMAT_DESCRIPTION)
    decoder.decode(table_map_of_every_type()[0])
    with suppress(DecodeError):
        consume(decoder.decode(event(data[0], data[2:], flags=data[1])))


def table_map(data: bytes) -> None:
    """Decode a table's definition, and choose the readers of its columns."""
    for mariadb in (False, True):
        with suppress(DecodeError):
            _ = TableMapEvent.decode(PayloadReader(data), mariadb=mariadb).row_plan


def rows(data: bytes) -> None:
    """Decode rows of a table with a column of every type."""
    kinds = (
        EventType.WRITE_ROWS_EVENT,
        EventType.UPDATE_ROWS_EVENT,
        EventType.DELETE_ROWS_EVENT_V1,
        EventType.PARTIAL_UPDATE_ROWS_EVENT,
    )
    definition, columns = table_map_of_every_type()
    decoder = EventDecoder(file="binlog.000001")
    decoder.decode(FORMAT_DESCRIPTION)
    decoder.decode(definition)
    kind = kinds[data[0] % len(kinds)] if data else kinds[0]
    extra = b"" if kind == EventType.DELETE_ROWS_EVENT_V1 else b"\x02\x00"
    head = bytes.fromhex("2a0000000000 0100") + extra + bytes([columns])
    with suppress(DecodeError):
        consume(decoder.decode(event(kind, head + data[1:])))


def json(data: bytes) -> None:
    """Print a JSON document."""
    with suppress(DecodeError):
        json_text(data)


def gtid_sets(data: bytes) -> None:
    """Parse and decode sets; one that is read prints and encodes to itself."""
    with suppress(DecodeError):
        decoded = GtidSet.decode(PayloadReader(data))
        assert GtidSet.parse(str(decoded)) == decoded
        assert GtidSet.decode(PayloadReader(decoded.encode())) == decoded
    text = data.decode("utf-8", "replace")
    with suppress(DecodeError, ConfigError):
        parsed = GtidSet.parse(text)
        assert GtidSet.parse(str(parsed)) == parsed
        assert GtidSet.decode(PayloadReader(parsed.encode())) == parsed
    with suppress(DecodeError, ConfigError):
        position = MariadbGtidSet.parse(text)
        assert MariadbGtidSet.parse(str(position)) == position


def packets(data: bytes) -> None:
    """Split what a server sends; how the network cut it makes no difference."""
    outcomes = {tuple(_packets(data, chunk)) for chunk in _CHUNKS}
    assert len(outcomes) == 1, outcomes


def _packets(data: bytes, chunk: int) -> Iterator[str]:
    stream = EventStream("server")
    offset = 0
    try:
        while True:
            event = stream.next_event()
            if event is not None:
                yield repr(event)
            elif stream.end is not None:
                yield repr(stream.end)
                return
            elif offset < len(data):
                stream.feed(data[offset : offset + chunk])
                offset += chunk
            else:
                return
    except DecodeError as error:
        yield error.text


def filters(data: bytes) -> None:
    """Read a condition, and judge a row of a table with a column of every kind by it."""
    where = data.decode("utf-8", "replace")
    with suppress(ConfigError, UnsupportedChange):
        chosen = ConditionFilters([FilterSettings(tables="*.*", where=where)])
        found = chosen.of(FilteredTable("d", "t", list(FILTERED), range(len(FILTERED)), {"masked"}))
        assert found is not None
        for values in (list(FILTERED_VALUES), [None] * len(FILTERED)):
            assert found.keeps_logged(values) in (True, False)


FILTERED: tuple[SchemaColumn, ...] = tuple(
    {"name": name, "type": kind, "nullable": True, "key": 0}
    for name, kind in (
        ("n", "int"),
        ("m", "decimal"),
        ("s", "varchar"),
        ("b", "blob"),
        ("d", "date"),
        ("t", "datetime"),
        ("f", "double"),
        ("masked", "text"),
    )
)
FILTERED_VALUES = (7, "7.50", "a", b"a", "2026-01-31", "2026-01-31 08:15:00", 1.5, "x")
CONDITIONS = (
    "n = 7 AND m <> -7.5 OR NOT (s = 'a' XOR b = X'41')",
    "d BETWEEN '2026-01-01' AND '2026-01-31' && t >= '2026-01-31 08:15:00.25'",
    "s LIKE 'a|%' ESCAPE '|' AND s NOT IN ('a', \"b\", NULL) IS NOT TRUE",
    "f IS NULL OR `masked` <=> 'a' OR t.n < 1 OR d.t.m >= .5 OR n",
)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "log_file": log_file,
    "one_event": one_event,
    "table_map": table_map,
    "rows": rows,
    "json": json,
    "gtid_sets": gtid_sets,
    "packets": packets,
    "filters": filters,
    **answers.TARGETS,
}


def seeds(target: str) -> Iterator[bytes]:
    """Yield inputs for a target: conditions, answers, or parts of the real files at hand."""
    if target in answers.TARGETS:
        yield from answers.seeds(target)
        return
    if target == "filters":
        yield from (where.encode() for where in CONDITIONS)
        return
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")):
            if _is_log(path) and path.stat().st_size <= SEED_BYTES_MAX:
                yield from _seeds_of(target, path.read_bytes())


def _is_log(path: Path) -> bool:
    """Return whether the file is not an expectation that lies beside a log."""
    return path.is_file() and path.suffix not in {".json", ".gz", ".md"}


def _seeds_of(target: str, data: bytes) -> Iterator[bytes]:
    if target == "log_file":
        yield data
        return
    with suppress(DecodeError), open_binlog(data) as log:
        for decoded in log:
            yield from _seeds_in(target, decoded)


def _seeds_in(target: str, decoded: Event) -> Iterator[bytes]:
    type_code, flags = decoded.header.type_code, decoded.header.flags & 0xFF
    end = len(decoded.data) - (4 if decoded.checksum is not None else 0)
    body = decoded.data[19:end]
    if target == "one_event":
        yield bytes([type_code, flags]) + body
    elif target == "packets":
        payload = b"\0" + decoded.data
        if len(payload) < 1 << 16:
            yield len(payload).to_bytes(3, "little") + b"\x01" + payload
    elif target == "table_map" and type_code == EventType.TABLE_MAP_EVENT:
        yield body
    elif target == "gtid_sets" and type_code == EventType.PREVIOUS_GTIDS_LOG_EVENT:
        yield body
        yield str(GtidSet.decode(PayloadReader(body))).encode()
