"""Which files and servers prove what: events and columns that were decoded from real logs.

An event counts once its body has been decoded, a column type once a value of it has: NULL proves
nothing. The evidence of the golden files is computed whenever it is asked for; that of the recorded
files beside the project is kept in `recorded_evidence.json`, so that the coverage table is the same
where they are absent, and a test compares the two where they are there.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from connector.binlog.columns.column import ABSENT
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.rows import RowsEvent
from connector.binlog.log_errors import EventError
from connector.foundation.errors import DecodeError
from tests.golden.golden import MAGIC, decoded_events, logs_and_dumps, with_inner_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event

RECORDED_EVIDENCE = Path(__file__).with_name("recorded_evidence.json")


@dataclass(slots=True)
class Evidence:
    """What one log proves."""

    source: str  # a server of the golden files, or the name of a recorded file
    is_server: bool = False
    versions: set[int] = field(default_factory=set)  # binlog formats
    events: dict[int, str] = field(default_factory=dict)  # the class of each type code
    columns: dict[int, set[str]] = field(default_factory=dict)  # the classes of each type's values
    refused: set[int] = field(default_factory=set)  # rows events whose rows are an error

    @classmethod
    def of(cls, source: str, events: Iterable[Event]) -> Evidence:
        """Decode a log up to its end, or to the event that is broken in it."""
        evidence = cls(source)
        # The recorded files have broken ones among them: their own tests say which.
        with contextlib.suppress(DecodeError):
            for event in with_inner_events(events):
                evidence._add(event)
        return evidence

    def _add(self, event: Event) -> None:
        self.events[event.header.type_code] = type(event.body).__name__
        if isinstance(event.body, FormatDescriptionEvent | StartEventV3):
            self.versions.add(event.body.binlog_version)
        if isinstance(event.body, RowsEvent):
            try:
                self._add_columns(event.body)
            except EventError:
                self.refused.add(event.header.type_code)

    def _add_columns(self, body: RowsEvent) -> None:
        types = [column.real_type for column in body.table_map.columns]
        for row in body.rows():
            for image in (row.before, row.after):
                for type_code, value in zip(types, image or (), strict=False):
                    if value is not None and value is not ABSENT:
                        self._add_column(type_code, type(value).__name__)

    def _add_column(self, type_code: int, *classes: str) -> None:
        self.columns.setdefault(type_code, set()).update(classes)


def golden_evidence() -> list[Evidence]:
    """Return what the golden logs prove, one of each server."""
    merged: dict[str, Evidence] = {}
    for log in logs_and_dumps():
        server = log.recording.server
        evidence = Evidence.of(server, log.events())
        into = merged.setdefault(server, Evidence(server, is_server=True))
        into.versions |= evidence.versions
        into.events |= evidence.events
        for type_code, classes in evidence.columns.items():
            into._add_column(type_code, *classes)
        into.refused |= evidence.refused
    return list(merged.values())


def recorded_evidence(folder: Path) -> list[Evidence]:
    """Return what the recorded logs prove, one of each; single events are no logs."""
    paths = [path for path in sorted(folder.glob("*/*")) if path.read_bytes().startswith(MAGIC)]
    return [Evidence.of(path.name, decoded_events(path)) for path in paths]


def kept_evidence() -> list[Evidence]:
    """Return what the recorded files proved when that was last written down."""
    return [
        Evidence(
            kept["source"],
            versions=set(kept["versions"]),
            events={int(code): name for code, name in kept["events"].items()},
            columns={int(code): set(classes) for code, classes in kept["columns"].items()},
            refused=set(kept["refused"]),
        )
        for kept in json.loads(RECORDED_EVIDENCE.read_text(encoding="utf-8"))
    ]


def keep_evidence(evidence: list[Evidence]) -> None:
    """Write down what the recorded files prove, a file a line."""
    lines = [
        json.dumps(
            {
                "source": e.source,
                "versions": sorted(e.versions),
                "events": {str(code): e.events[code] for code in sorted(e.events)},
                "columns": {str(code): sorted(e.columns[code]) for code in sorted(e.columns)},
                "refused": sorted(e.refused),
            }
        )
        for e in evidence
    ]
    RECORDED_EVIDENCE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
