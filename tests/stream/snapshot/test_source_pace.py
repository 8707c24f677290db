"""How long a server rests after a read whose reader has rested by itself."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot import source_pace
from connector.stream.snapshot.source_pace import SourcePace


@pytest.mark.parametrize(
    ("unpaid", "wait"),
    [
        # Who does not rest by himself owes everything. A second is never owed.
        (None, 18.0),
        # Of ten seconds, most were rests, or the work of a worker on what was read.
        (3.0, 4.0),
        (0.0, 0.0),
    ],
)
def test_what_a_reader_has_not_rested_for_is_owed(
    monkeypatch: pytest.MonkeyPatch, unpaid: float | None, wait: float
) -> None:
    now = [100.0]
    monkeypatch.setattr(source_pace, "CLOCK", SimpleNamespace(monotonic=lambda: now[0]))
    settings = SnapshotSettings(pace="full", connections=4)
    pace = SourcePace(settings, reads_here=False)
    session: Any = SimpleNamespace()
    pace._law.pace = 0.5
    with pace.read(session, Event()) as read:
        now[0] += 10.0
        read.unpaid_seconds = unpaid
        read.own_rest_seconds = 0.0 if unpaid is None else 6.0
    pace.look(session)
    assert pace.turn()[0] == pytest.approx(wait)
