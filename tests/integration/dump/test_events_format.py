"""`dump --format events`, compared with the servers' own SHOW BINLOG EVENTS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors.message import visible_bytes
from connector.logs.dump.events_format import EventsFormat
from tests.logs.dump.written import lines_of

if TYPE_CHECKING:
    from tests.integration.dump.server_logs import ServerLog

pytestmark = pytest.mark.server


def line_of(row: tuple[Any, ...]) -> str:
    """Return a row as `dump` prints it."""
    return "\t".join(escaped(cell) if isinstance(cell, bytes) else str(cell) for cell in row)


def escaped(raw: bytes) -> str:
    for byte, escape in ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"), (b"\r", b"\\r")):
        raw = raw.replace(byte, escape)
    return visible_bytes(raw.replace(b"\0", b"\\0")).decode("utf-8", "surrogateescape")


def test_every_event_reads_as_its_server_shows_it(server_logs: list[ServerLog]) -> None:
    writer = EventsFormat()
    for log in server_logs:
        lines = list(lines_of(writer, log.events()))
        assert lines == [line_of(row) for row in log.shown]
