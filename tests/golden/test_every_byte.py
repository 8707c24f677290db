"""Each byte of each event of the golden and the recorded files is read, and written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.checksum import CHECKSUM_LENGTH
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.header import HEADER_LENGTH, EventType
from connector.binlog.payload_reader import PayloadReader
from connector.foundation import compiled
from tests.binlog.encoders import ENCODERS, encoded
from tests.golden.golden import decoded_events, logs_and_dumps, with_inner_events
from tests.golden.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from connector.binlog.event import Event
    from tests.golden.golden import GoldenDump, GoldenLog

# The ledger looks into the readers, which compiled code does not let happen.
if compiled.mode() == "compiled":
    pytest.skip("bytes are counted in interpreted readers", allow_module_level=True)

every_source = pytest.mark.parametrize("source", logs_and_dumps(), ids=lambda source: source.name)

# Recorded files with events that end in an error; the tests of the decoder say which.
BROKEN = {"binlog_truncated_event.000001", "ver_5_1-wl2325_r.001", "ver_5_1_17.001"}

# The functions that pass over bytes, with the bytes that they may pass over. The zero byte behind a
# text whose length was read before says nothing.
ZERO = {
    "events.query._read_query",
    "events.status_variables._catalog",
    "events.table_map._read_name",
    "payload_reader.PayloadReader.read_terminated",
}
# What is passed over has been looked at in another way.
LOOKED_AT = {
    # Compared with the bytes of a table map that was decoded before.
    "events.table_map.TableMapCache.decode",
    # The same, for the variables of a session.
    "events.status_variables.StatusVariables.decode",
    # Decompressed; the events inside have accounts of their own.
    "events.compression.TransactionPayload.decode",
    # The type code of the logical clock, which was peeked at.
    "events.transaction.CommitInfo.read_facts",
}

# Documents that were changed in place keep bytes that belong to no value any more.
JSON_CHANGED_IN_PLACE = ("partial_json", "typed_array")
JSON_DOCUMENT = "columns.json_document._Document.__init__"


def different_when_encoded(events: Iterable[Event]) -> list[str]:
    """Encode every event that has an encoder; return those that are not what they were."""
    different = []
    count = 0
    format_v4 = True
    for event in with_inner_events(events):
        body = event.body
        format_v4 = format_v4 and not isinstance(body, StartEventV3)
        if (
            type(body) not in ENCODERS
            or event.header.type_code == EventType.QUERY_COMPRESSED_EVENT
            or (isinstance(body, QueryEvent) and not format_v4)
        ):
            continue
        count += 1
        if event.data[HEADER_LENGTH : _end_of_body(event)] != encoded(body):
            different.append(f"{event.position} {type(body).__name__}")
    assert count
    return different


def _end_of_body(event: Event) -> int:
    # A format description has room for a checksum also where the log has none.
    described = (
        isinstance(event.body, FormatDescriptionEvent) and event.body.checksum_algorithm is not None
    )
    has_checksum = described or event.checksum is not None
    return len(event.data) - (CHECKSUM_LENGTH if has_checksum else 0)


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Ledger:
    return Ledger(monkeypatch)


def unread_bytes(
    ledger: Ledger, events: Iterable[Event], *, json_has_holes: bool = False
) -> list[str]:
    """Decode everything there is; return what nobody read."""
    unread = []
    for event in with_inner_events(events):
        if isinstance(event.body, RowsEvent):
            for _ in event.body.rows():
                pass
        ledger.read(event.data, _end_of_body(event), len(event.data))
        for account in ledger.close_accounts():
            if json_has_holes and account.opened_by == JSON_DOCUMENT:
                continue
            unread += [
                f"{event.position} {type(event.body).__name__}: byte {place}, skipped by {by}"
                for place, by in account.unread()
                if by not in LOOKED_AT and not (by in ZERO and not account.data[place])
            ]
    return unread


@every_source
def test_every_byte_of_a_golden_log_is_read(ledger: Ledger, source: GoldenLog | GoldenDump) -> None:
    json_has_holes = source.path.name.startswith(JSON_CHANGED_IN_PLACE)
    assert unread_bytes(ledger, source.events(), json_has_holes=json_has_holes) == []


@every_source
def test_an_event_that_can_be_encoded_is_the_bytes_that_it_was_decoded_from(
    source: GoldenLog | GoldenDump,
) -> None:
    assert different_when_encoded(source.events()) == []


def test_recorded_events_that_can_be_encoded_are_their_bytes(shared_binlogs: Path) -> None:
    different = {
        path.name: different_when_encoded(decoded_events(path))
        for path in sorted((shared_binlogs / "recorded").iterdir())
        if path.name != "binlog_truncated_event.000001"
    }
    assert different == {name: [] for name in different}


def test_every_byte_of_the_recorded_files_is_read(ledger: Ledger, shared_binlogs: Path) -> None:
    unread = {
        path.name: unread_bytes(ledger, decoded_events(path))
        for path in sorted((shared_binlogs / "recorded").iterdir())
        if path.name not in BROKEN
    }
    assert unread == {name: [] for name in unread}


def test_a_byte_that_nobody_reads_is_in_the_ledger(ledger: Ledger) -> None:
    reader = PayloadReader(b"abcdef", 1, 5)
    reader.read_uint8()
    reader.skip(1)
    (account,) = ledger.close_accounts()
    assert [place for place, _ in account.unread()] == [2, 3, 4]
