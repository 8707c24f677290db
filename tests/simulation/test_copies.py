"""Tables are copied while the stream goes on, and everything goes wrong that can.

A seed makes a story, and some schedules for it. STORIES=n runs as many of each kind, SEED=n one
that failed.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.simulation.copied_story import ALL_TABLES, copied_story
from tests.simulation.copy_verdict import CopyVerdict, streamed
from tests.simulation.copying import Copied, Request, Uncopied, copying_settings
from tests.simulation.faults import Call, Fault, Seeded, Undisturbed
from tests.simulation.live_server import LiveServer
from tests.simulation.run import simulate
from tests.simulation.story import TABLES
from tests.simulation.table_history import TableHistory
from tests.simulation.verdict import scenario

if TYPE_CHECKING:
    from tests.simulation.log_writer import Flavour
    from tests.simulation.world import World

STORIES = int(os.environ.get("STORIES", "30"))
SCHEDULES_OF_A_STORY = 4
SEED = os.environ.get("SEED")
ADDED = "ships"


class Kind(NamedTuple):
    name: str
    extra: tuple[Fault, ...] = ()
    standby: bool = False
    adds_table: bool = False


KINDS = (
    Kind("faults of all kinds"),
    Kind("two instances", (Fault.RIVAL, *[Fault.SWITCH] * 4)),
    Kind("two servers", (Fault.FAILOVER, Fault.FAILOVER), standby=True),
    Kind("a table is added", adds_table=True),
)


class StoppedAt(Seeded):
    """The same, and one request to stop."""

    stop_at = 0

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return what goes wrong, if anything does."""
        fault = super().fault(step, call)
        return Fault.STOP if step == self.stop_at else fault


def seeds() -> list[int]:
    return [int(SEED)] if SEED is not None else list(range(STORIES))


def requests(random: Random, tables: tuple[str, ...]) -> list[Request]:
    made = []
    for step in sorted(random.randrange(1500) for _ in range(random.choice((0, 1, 1, 2, 3)))):
        where = random.choice(("", "", "id % 2 = 0", "id < 1000"))
        possible = TABLES if where else ALL_TABLES
        chosen = [table for table in possible if table in tables]
        made.append(Request(step, tuple(random.sample(chosen, random.randint(1, 2))), where))
    return made


def run(kind: Kind, seed: int, happened: Counter[str]) -> list[tuple[World, CopyVerdict]]:
    random = Random(f"copies: {kind.name} {seed}")
    kinds: tuple[tuple[Flavour, bool], ...] = (("mysql", True), ("mariadb", True), ("mysql", False))
    flavour, gtid = random.choice(kinds[:2] if kind.standby else kinds)
    initial, story = copied_story(random, random.randint(4, 16))
    chosen = scenario(story, flavour, gtid=gtid, standby=kind.standby)
    history = TableHistory(initial, story.groups)
    before = tuple(table for table in ALL_TABLES if table != ADDED or not kind.adds_table)
    plain = simulate(
        chosen.servers,
        Undisturbed(),
        beside=Uncopied(copying_settings(ALL_TABLES, chunk_rows=1, start="earliest")),
    ).broker
    runs = []
    for number in range(SCHEDULES_OF_A_STORY):
        plan = StoppedAt(random, last_step=random.choice((150, 400, 900)), extra=kind.extra)
        rows = random.choice((1, 2, 3, 5))
        later = None
        if kind.adds_table:
            plan.stop_at = random.randrange(600)
            later = copying_settings(ALL_TABLES, chunk_rows=rows)
        settings = copying_settings(before, chunk_rows=rows)
        beside = Copied(settings, later, requests(random, before))
        servers = [
            LiveServer(server, writer, history, random)
            for server, writer in zip(chosen.servers, chosen.writers, strict=True)
        ]
        by_event = random.random() < 0.7
        world = simulate(servers, plan, seed=number, by_event=by_event, beside=beside)
        writers = {
            server.identity.server_uuid: writer
            for server, writer in zip(chosen.servers, chosen.writers, strict=True)
        }
        verdict = CopyVerdict(history, writers)
        verdict.check(world.broker, ALL_TABLES)
        if not kind.standby:
            assert streamed(world.broker, of=before) == streamed(plain, of=before)
        happened.update(plan.happened)
        runs.append((world, verdict))
    return runs


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_tables_are_copied_whatever_happens(kind: Kind) -> None:
    happened: Counter[str] = Counter()
    runs: list[tuple[World, CopyVerdict]] = []
    for seed in seeds():
        try:
            runs += run(kind, seed, happened)
        except Exception as error:
            reason = f"SEED={seed} of {kind.name!r}: {type(error).__name__}: {error}"
            raise AssertionError(reason) from error
    print(
        f"{kind.name}: {len(runs)} schedules, "
        f"{sum(world.steps for world, _ in runs)} steps, "
        f"{sum(len(world.processes) for world, _ in runs)} processes, "
        f"{sum(verdict.begun for _, verdict in runs)} copies, "
        f"{sum(verdict.copied for _, verdict in runs)} rows of them, "
        f"{happened.total()} faults of {len(happened)} kinds"
    )
    assert happened.total() >= len(seeds())
