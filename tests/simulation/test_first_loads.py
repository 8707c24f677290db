"""The Spark job reads the first rows of tables, while they change and everything goes wrong.

Of the copies at the start, the connector writes the ids of the loads and the columns alone. A seed
makes a story, and some schedules for it. STORIES=n runs as many of each kind, SEED=n one that
failed.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.length import length
from tests.simulation.copied_story import ALL_TABLES, copied_story
from tests.simulation.copy_verdict import streamed
from tests.simulation.copying import Copied, Uncopied, copying_settings
from tests.simulation.faults import APPLICABLE, Fault, Seeded, Single, Undisturbed
from tests.simulation.live_server import LiveServer
from tests.simulation.load_verdict import LoadVerdict
from tests.simulation.run import simulate
from tests.simulation.story import (
    OTHER_TABLE,
    TABLES,
    AddColumn,
    Change,
    Create,
    Drop,
    Story,
    Transaction,
    Truncate,
)
from tests.simulation.table_history import TableHistory
from tests.simulation.verdict import SOURCES, scenario

if TYPE_CHECKING:
    from tests.simulation.faults import Plan
    from tests.simulation.story import Step
    from tests.simulation.table_history import Rows
    from tests.simulation.verdict import Source
    from tests.simulation.world import World

STORIES = int(os.environ.get("STORIES", length(short=1, full=60)))
SCHEDULES_OF_A_STORY = 4
SEED = os.environ.get("SEED")
# One of so many calls of a run fails.
STEP = length(short=29, full=1)


class Loaded:
    """A story, and what comes of it if somebody else reads the first rows of its tables."""

    def __init__(self, initial: dict[str, Rows], story: Story, source: Source) -> None:
        self._chosen = scenario(story, source)
        self._history = TableHistory(initial, story.groups)
        settings = copying_settings(ALL_TABLES, chunk_rows=1, start="earliest")
        self._plain = simulate(
            self._chosen.servers, Undisturbed(), beside=Uncopied(settings)
        ).broker

    def simulate(
        self, plan: Plan, random: Random, *, seed: int, by_event: bool
    ) -> tuple[World, LoadVerdict]:
        """Follow the tables, load them, and check what comes of it."""
        chosen = self._chosen
        (writer,) = chosen.writers
        server = LiveServer(chosen.servers[0], writer, self._history, random)
        beside = Copied(copying_settings(ALL_TABLES, chunk_rows=3, to="mirror"))
        world = simulate([server], plan, seed=seed, by_event=by_event, beside=beside)
        verdict = LoadVerdict(self._history, writer, random)
        verdict.check(world.broker, ALL_TABLES)
        assert streamed(world.broker, of=ALL_TABLES) == streamed(self._plain, of=ALL_TABLES)
        return world, verdict


@pytest.mark.parametrize("extra", [(), (Fault.RIVAL, *[Fault.SWITCH] * 4)], ids=["one", "two"])
def test_tables_are_loaded_whatever_happens(extra: tuple[Fault, ...]) -> None:
    happened: Counter[str] = Counter()
    loaded = altered = 0
    for seed in range(STORIES) if SEED is None else [int(SEED)]:
        random = Random(f"loads: {extra} {seed}")
        initial, story = copied_story(random, random.randint(4, 16))
        told = Loaded(initial, story, random.choice([*SOURCES.values()]))
        for number in range(SCHEDULES_OF_A_STORY):
            plan = Seeded(random, last_step=random.choice((150, 400, 900)), extra=extra)
            by_event = random.random() < 0.7
            try:
                _, verdict = told.simulate(plan, random, seed=number, by_event=by_event)
            except Exception as error:
                reason = f"SEED={seed} with {extra}: {type(error).__name__}: {error}"
                raise AssertionError(reason) from error
            happened.update(plan.happened)
            loaded += verdict.loaded
            altered += verdict.altered
    print(f"{loaded} rows, {altered} tables altered meanwhile, {happened.total()} faults")
    assert loaded
    assert happened


ROWS = {
    table: {row_id: f"{table} {row_id} initial" for row_id in range(1, 7)}
    for table in (*ALL_TABLES, OTHER_TABLE)
}


def altered(random: Random) -> list[Step]:
    """Return changes of all tables, each of which gets columns and other rows meanwhile."""
    steps: list[Step] = [
        Transaction(tuple(Change(table, "c", 50, f"{table} 50") for table in ALL_TABLES))
    ]
    for number in range(3):
        for table in random.sample(TABLES, len(TABLES)):
            row_id = random.randint(1, 6)
            steps.append(AddColumn(table, number))
            if number < 2:
                steps.append(Transaction((Change(table, "u", row_id, f"{table} {number}"),)))
            elif table == TABLES[0]:
                steps += [Truncate(table, known=True), Drop(table), Create(table)]
    return steps


@pytest.mark.parametrize("source", SOURCES)
def test_columns_change_while_they_are_read(source: str) -> None:
    found = Counter[str]()
    for seed in range(length(short=3, full=200)):
        random = Random(seed)
        told = Loaded(ROWS, Story(tuple(altered(random))), SOURCES[source])
        plan = Seeded(random, last_step=300) if seed % 3 == 2 else Undisturbed()
        _, verdict = told.simulate(plan, random, seed=seed, by_event=random.random() < 0.7)
        found.update(loaded=verdict.loaded, altered=verdict.altered)
    print(found)
    assert found["loaded"]
    assert found["altered"]


@pytest.mark.parametrize("source", SOURCES)
def test_every_call_fails_once(source: str) -> None:
    told = Loaded(ROWS, Story(tuple(altered(Random(0)))), SOURCES[source])
    calm = Undisturbed()
    told.simulate(calm, Random(0), seed=0, by_event=True)
    for step, call in enumerate(calm.calls, 1):
        first = (step + len(source)) % STEP
        for fault in APPLICABLE[call][first::STEP]:
            told.simulate(Single((step, fault)), Random(0), seed=0, by_event=True)
