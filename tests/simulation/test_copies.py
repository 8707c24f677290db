"""Tables are copied while the stream goes on, and everything goes wrong that can.

A seed makes a story, and some schedules for it. STORIES=n runs as many of each kind, SEED=n one
that failed.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.length import length
from tests.simulation.copied_story import ALL_TABLES, copied_story
from tests.simulation.copy_verdict import CopyVerdict, streamed
from tests.simulation.copying import (
    CUT_BYTES,
    GROUP_BYTES,
    Copied,
    Request,
    Uncopied,
    copying_settings,
)
from tests.simulation.faults import Call, Fault, Seeded, Undisturbed
from tests.simulation.live_server import LiveServer
from tests.simulation.run import simulate
from tests.simulation.story import (
    KEYLESS,
    OTHER_TABLE,
    TABLES,
    AddColumn,
    Change,
    Create,
    Drop,
    Rotation,
    Story,
    Transaction,
    Truncate,
)
from tests.simulation.table_history import TableHistory
from tests.simulation.verdict import SOURCES, scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.simulation.broker import Broker
    from tests.simulation.faults import Plan
    from tests.simulation.story import Step
    from tests.simulation.table_history import Rows
    from tests.simulation.verdict import Scenario, Source
    from tests.simulation.world import World

STORIES = int(os.environ.get("STORIES", length(short=1, full=30)))
SCHEDULES_OF_A_STORY = 4
SEED = os.environ.get("SEED")
RARE_SCHEDULES = length(short=1, full=25)
ADDED = "ships"


class Kind(NamedTuple):
    name: str
    extra: tuple[Fault, ...] = ()
    standby: bool = False
    adds_table: bool = False
    cascades: bool = False


KINDS = (
    Kind("faults of all kinds"),
    Kind("two instances", (Fault.RIVAL, *[Fault.SWITCH] * 4)),
    Kind("two servers", (Fault.FAILOVER, Fault.FAILOVER), standby=True),
    Kind("a table is added", adds_table=True),
    Kind("foreign keys cascade", cascades=True),
)


# What copies have met too rarely for schedules of random stories to find it soon.
ROWS = {
    table: {row_id: f"{table} {row_id} initial" for row_id in range(1, 7)}
    for table in (*ALL_TABLES, OTHER_TABLE)
}


def change(table: str, row_id: int) -> Transaction:
    return Transaction((Change(table, "u", row_id, f"{table} {row_id} changed"),))


FIRST = Transaction(tuple(Change(table, "c", 50, f"{table} 50") for table in ALL_TABLES))
RARE = {
    "a table is dropped and created again": (
        FIRST,
        *(step for table in TABLES for step in (Drop(table), Create(table))),
        *(Transaction((Change(table, "c", 60, f"{table} 60"),)) for table in TABLES),
    ),
    "a table without a key is truncated": (
        FIRST,
        *(
            step
            for row_id in range(1, 6)
            for step in (
                change("orders", row_id),
                Transaction((Change(KEYLESS, "c", 50 + row_id, f"{KEYLESS} {row_id}"),)),
                change("items", row_id),
                Truncate(KEYLESS, known=True),
            )
        ),
    ),
    "the log goes on in other files": (
        FIRST,
        *(step for row_id in range(1, 7) for step in (Rotation(), change(KEYLESS, row_id))),
    ),
}


class StoppedAt(Seeded):
    """The same, and one request to stop."""

    stop_at = 0

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return what goes wrong, if anything does."""
        fault = super().fault(step, call)
        return Fault.STOP if step == self.stop_at else fault


def seeds() -> list[int]:
    return [int(SEED)] if SEED is not None else list(range(STORIES))


def requests(random: Random, tables: tuple[str, ...], ids: Sequence[int]) -> list[Request]:
    """Return requests of users; some list ids of rows, which are there at times."""
    made = []
    for step in sorted(random.randrange(1500) for _ in range(random.choice((0, 1, 1, 2, 3)))):
        where = random.choice(("", "", "id % 2 = 0", "id < 1000"))
        possible = TABLES if where else ALL_TABLES
        chosen = [table for table in possible if table in tables]
        if where and random.random() < 0.6:
            listed = random.sample(ids, random.randint(1, len(ids)))
            made.append(Request(step, (random.choice(chosen),), where, tuple(listed)))
            continue
        made.append(Request(step, tuple(random.sample(chosen, random.randint(1, 2))), where))
    return made


@dataclass
class Told:
    """A story that is copied, in the logs of its servers."""

    chosen: Scenario
    history: TableHistory
    plain: Broker  # what comes of it without copies

    def simulate(
        self, plan: Plan, random: Random, *, seed: int, by_event: bool, beside: Copied
    ) -> tuple[World, CopyVerdict]:
        """Copy while the stream goes on, and check what comes of it."""
        chosen = self.chosen
        servers = [
            LiveServer(server, writer, self.history, random)
            for server, writer in zip(chosen.servers, chosen.writers, strict=True)
        ]
        world = simulate(servers, plan, seed=seed, by_event=by_event, beside=beside)
        writers = {
            server.identity.server_uuid: writer
            for server, writer in zip(servers, chosen.writers, strict=True)
        }
        verdict = CopyVerdict(self.history, writers)
        verdict.check(world.broker, ALL_TABLES)
        if len(servers) == 1:
            tables = tuple(name.partition(".")[2] for name in beside.settings.source.tables)
            assert streamed(world.broker, of=tables) == streamed(self.plain, of=tables)
        return world, verdict


def tell(initial: dict[str, Rows], story: Story, source: Source, *, standby: bool = False) -> Told:
    chosen = scenario(story, source, standby=standby)
    settings = copying_settings(ALL_TABLES, chunk_rows=1, start="earliest")
    plain = simulate(chosen.servers, Undisturbed(), beside=Uncopied(settings)).broker
    return Told(chosen, TableHistory(initial, story.groups), plain)


def run(kind: Kind, seed: int, happened: Counter[str]) -> list[tuple[World, CopyVerdict]]:
    random = Random(f"copies: {kind.name} {seed}")
    source = random.choice([each for each in SOURCES.values() if each.gtid or not kind.standby])
    initial, story = copied_story(random, random.randint(4, 16), cascades=kind.cascades)
    told = tell(initial, story, source, standby=kind.standby)
    behind = told.history.behind
    ids = sorted({row for tables in behind for each in tables.values() for row in each.rows})
    before = tuple(table for table in ALL_TABLES if table != ADDED or not kind.adds_table)
    runs = []
    for number in range(SCHEDULES_OF_A_STORY):
        plan = StoppedAt(random, last_step=random.choice((150, 400, 900)), extra=kind.extra)
        rows, size = random.choice((1, 2, 3, 5, 20)), random.choice((CUT_BYTES, GROUP_BYTES))
        later = None
        if kind.adds_table:
            plan.stop_at = random.randrange(600)
            later = copying_settings(ALL_TABLES, chunk_rows=rows, chunk_bytes=size)
        pause = random.choice((0.0, 0.5)) if kind.cascades else 0.0
        settings = copying_settings(
            before, chunk_rows=rows, cascade_seconds=pause, chunk_bytes=size
        )
        asked = requests(random, before, ids)
        beside = Copied(settings, later, asked, cascades=kind.cascades)
        by_event = random.random() < 0.7
        runs.append(told.simulate(plan, random, seed=number, by_event=by_event, beside=beside))
        happened.update(plan.happened)
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
        f"{sum(verdict.taken_back for _, verdict in runs)} rows taken back, "
        f"{happened.total()} faults of {len(happened)} kinds"
    )
    assert happened.total() >= len(seeds())


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("steps", RARE.values(), ids=RARE)
def test_what_copies_meet_rarely(steps: tuple[Step, ...], source: str) -> None:
    told = tell(ROWS, Story(steps), SOURCES[source])
    beside = partial(Copied, copying_settings(ALL_TABLES, chunk_rows=2))
    for seed in range(RARE_SCHEDULES):
        random = Random(seed)
        told.simulate(
            Undisturbed(), random, seed=seed, by_event=random.random() < 0.7, beside=beside()
        )


def of_a_group(random: Random) -> list[Step]:
    """Return changes of all rows of several tables, and statements that hit one of them."""
    steps: list[Step] = [FIRST]
    for number, table in enumerate(TABLES):
        for row_id in random.sample(range(1, 7), 6):
            steps += [change(other, row_id) for other in random.sample(TABLES, 3)]
        if number == 1:
            steps += [Truncate(table, known=True), Transaction((Change(table, "c", 60, table),))]
            steps += [Transaction((Change(table, "c", row_id, table),)) for row_id in range(1, 7)]
        else:
            steps.append(AddColumn(table, 0))
    return steps


@pytest.mark.parametrize("source", SOURCES)
def test_a_statement_on_one_of_the_tables_that_share_a_window(source: str) -> None:
    sizes: list[int] = []
    for seed in range(3 * RARE_SCHEDULES):
        random = Random(seed)
        told = tell(ROWS, Story(tuple(of_a_group(random))), SOURCES[source])
        settings = copying_settings(ALL_TABLES, chunk_rows=20, chunk_bytes=GROUP_BYTES)
        # All of them again, while the log grows.
        moments = sorted(random.randrange(600) for _ in range(8))
        beside = Copied(settings, None, [Request(step, TABLES) for step in moments])
        plan = StoppedAt(random, last_step=300) if seed % 3 == 2 else Undisturbed()
        told.simulate(plan, random, seed=seed, by_event=random.random() < 0.7, beside=beside)
        sizes += beside.group_sizes
    assert max(sizes) > 1


@pytest.mark.parametrize("source", SOURCES)
def test_listed_keys_are_taken_back_only_while_the_source_has_no_such_rows(
    source: str,
) -> None:
    ids = tuple(range(100, 110))
    texts = {row_id: f"orders {row_id}" for row_id in ids}
    inserted = [Transaction((Change("orders", "c", *row),)) for row in texts.items()]
    deleted = [Transaction((Change("orders", "d", *row),)) for row in texts.items()]
    steps = [*inserted, *deleted] * 3
    told = tell(ROWS, Story((FIRST, *steps)), SOURCES[source])
    taken_back = 0
    for seed in range(2 * RARE_SCHEDULES):
        random = Random(seed)
        moments = sorted(random.randrange(800) for _ in range(6))
        asked = [Request(step, ("orders",), "id < 0", ids) for step in moments]
        _, verdict = told.simulate(
            Undisturbed(),
            random,
            seed=seed,
            by_event=random.random() < 0.7,
            beside=Copied(copying_settings(ALL_TABLES, chunk_rows=2), None, asked),
        )
        taken_back += verdict.taken_back
    assert taken_back
