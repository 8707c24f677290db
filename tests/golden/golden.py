"""The recorded files and what their servers said of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from connector.binlog.decoder import EventDecoder
from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.header import detect_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.binlog.event import Event
    from tests.golden.tables import RecordedTable

FILES = Path(__file__).with_name("files")
MAGIC = b"\xfebin"

# The servers' name of the log, which their texts have.
LOG_BASENAME = "binlog"

_SIZE_OFFSET = 9


@dataclass(frozen=True)
class GoldenRecording:
    """One theme, run by one server."""

    facts_path: Path

    @property
    def name(self) -> str:
        """`mysql-8.0.31/types`."""
        return f"{self.server}/{self.facts_path.stem}"

    @property
    def server(self) -> str:
        """`mysql-8.0.31`."""
        return self.facts_path.parent.name

    @cached_property
    def facts(self) -> dict[str, object]:
        """What the server said."""
        facts = json.loads(self.facts_path.read_text(encoding="utf-8"))
        assert isinstance(facts, dict)
        return facts

    @property
    def tables(self) -> dict[str, RecordedTable]:
        """The tables at the end, by `schema`.`table`; none where the log has no rows of them."""
        tables = self.facts["tables"]
        assert isinstance(tables, dict)
        return tables

    @cached_property
    def logs(self) -> list[GoldenLog]:
        """The logs in their order."""
        paths = self.facts_path.parent.glob(f"{self.facts_path.stem}.[0-9]*[0-9]")
        return [GoldenLog(path, self) for path in sorted(paths)]

    @property
    def dumps(self) -> list[GoldenDump]:
        """What a replica was sent."""
        paths = self.facts_path.parent.glob(f"{self.facts_path.stem}.dump*")
        return [GoldenDump(path, self) for path in sorted(paths)]


@dataclass(frozen=True)
class GoldenLog:
    """One log of a recording."""

    path: Path
    recording: GoldenRecording = field(repr=False)

    @property
    def name(self) -> str:
        """`mysql-8.0.31/types.000001`."""
        return f"{self.recording.server}/{self.path.name}"

    @property
    def log_name(self) -> str:
        """The name that the server gave the log."""
        return LOG_BASENAME + self.path.suffix

    @property
    def shown_events(self) -> list[list[str]]:
        """The rows of SHOW BINLOG EVENTS; bytes that are no UTF-8 are lone surrogates."""
        shown = self.recording.facts["show_binlog_events"]
        assert isinstance(shown, dict)
        rows = shown[self.path.suffix.removeprefix(".")]
        assert isinstance(rows, list)
        return rows

    @property
    def expected_json(self) -> Path:
        """What `dump --format json` prints of the log, a line an event."""
        return self.path.with_name(f"{self.path.name}.jsonl.gz")

    def events(self) -> Iterator[Event]:
        """Decode the log; inner events stay inside their payloads."""
        return decoded_events(self.path, self.log_name)

    def opened_events(self) -> Iterator[Event]:
        """Take the events of the log; each is decoded at its first use."""
        return opened_events(self.path, self.log_name)


@dataclass(frozen=True)
class GoldenDump:
    """The events that a server sent to a replica, up to the first heartbeat."""

    path: Path
    recording: GoldenRecording = field(repr=False)

    @property
    def name(self) -> str:
        """`mysql-8.0.31/heartbeats.dump2`."""
        return f"{self.recording.server}/{self.path.name}"

    def events(self) -> Iterator[Event]:
        """Decode the dump, whose first event names the log."""
        decoder = EventDecoder()
        for event in _split(self.path.read_bytes()):
            yield decoder.decode(event)


@cache
def recordings() -> tuple[GoldenRecording, ...]:
    """Return every recording, by server and theme."""
    return tuple(GoldenRecording(path) for path in sorted(FILES.glob("*/*.json")))


def logs() -> list[GoldenLog]:
    """Return every log of every recording."""
    return [log for recording in recordings() for log in recording.logs]


def logs_and_dumps() -> list[GoldenLog | GoldenDump]:
    """Return everything recorded that holds events."""
    sources: list[GoldenLog | GoldenDump] = []
    for recording in recordings():
        sources += recording.logs
        sources += recording.dumps
    return sources


def decoded_events(path: Path, name: str | None = None) -> Iterator[Event]:
    """Decode a log of any version."""
    for event in opened_events(path, name):
        _ = event.body
        yield event


def opened_events(path: Path, name: str | None = None) -> Iterator[Event]:
    """Take the events of a log of any version; each is decoded at its first use."""
    data = path.read_bytes().removeprefix(MAGIC)
    version = detect_version(data)
    decoder = EventDecoder(file=name or path.name, version=version, counted=True)
    for event in _split(data):
        yield decoder.open(event)


def with_inner_events(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events, behind each payload those that are inside."""
    for event in events:
        yield event
        if isinstance(event.body, TransactionPayloadEvent):
            yield from event.body.events()


def _split(data: bytes) -> Iterator[bytes]:
    offset = 0
    while offset < len(data):
        size = int.from_bytes(data[offset + _SIZE_OFFSET : offset + _SIZE_OFFSET + 4], "little")
        yield data[offset : offset + size]
        offset += max(size, 1)
