"""Logs that real servers wrote arrive once, whatever happens on the way."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from connector.binlog.table_filter import TableFilter
from connector.stream.changes.receiver import TransactionEnd
from tests.golden.golden import MAGIC, GoldenRecording, recordings
from tests.length import length
from tests.simulation.faults import Plan, Seeded, Undisturbed
from tests.simulation.log_writer import FIRST_POSITION, LogFile, LoggedEvent
from tests.simulation.run import SETTINGS, committed_progress, simulate
from tests.simulation.server import ScriptedServer
from tests.simulation.verdict import check_alike, check_rising, contents
from tests.stream.changes.received import changes_of

if TYPE_CHECKING:
    from tests.simulation.log_writer import Flavour
    from tests.simulation.world import World

SERVERS = ("mysql-8.0.31", "mysql-9.7.4", "mariadb-11.8.6")
THEMES = ("types", "row_images.full", "transactions", "xa", "compression", "mixed_engines")
SCHEDULES = length(short=3, full=6)
WHOLE = SETTINGS.model_copy(
    update={"source": SETTINGS.source.model_copy(update={"tables": ["golden.*"]})}
)
_SIZE_OFFSET = 9


def chosen() -> list[GoldenRecording]:
    return [
        one
        for one in recordings()
        if one.server in SERVERS and one.facts_path.stem in THEMES and one.logs
    ]


def server_of(recording: GoldenRecording) -> ScriptedServer:
    files = [LogFile(log.log_name, None, logged(log.path.read_bytes())) for log in recording.logs]
    last = [
        change
        for log in recording.logs
        for change in changes_of(log.events(), TableFilter([]))
        if isinstance(change, TransactionEnd)
    ][-1]
    flavour: Flavour = "mariadb" if recording.server.startswith("mariadb") else "mysql"
    end = last.file, last.next_position
    return ScriptedServer("recorded", flavour, files, None, end)


def logged(data: bytes) -> list[LoggedEvent]:
    assert data.startswith(MAGIC)
    events = []
    offset = FIRST_POSITION
    while offset < len(data):
        size = int.from_bytes(data[offset + _SIZE_OFFSET : offset + _SIZE_OFFSET + 4], "little")
        events.append(LoggedEvent(offset, data[offset : offset + size], None))
        offset += size
    return events


def run(server: ScriptedServer, plan: Plan, seed: int) -> World:
    return simulate([server], plan, seed=seed, settings=WHOLE)


@pytest.mark.parametrize("recording", chosen(), ids=lambda one: one.name)
def test_a_recorded_log_arrives_once_whatever_happens(recording: GoldenRecording) -> None:
    server = server_of(recording)
    expected = run(server, Undisturbed(), 0).broker
    assert contents(expected)
    last = committed_progress(expected)[-1]
    assert (last.file, last.position) == server.end
    for seed in range(SCHEDULES):
        plan = Seeded(Random(f"{recording.name} {seed}"), last_step=200, percent=5)
        broker = run(server, plan, seed).broker
        check_alike(broker, expected)
        check_rising(broker)
