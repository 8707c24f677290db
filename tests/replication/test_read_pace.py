"""The law of pace against a simulated server: it grows, holds, halves, and never starves."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from math import inf
from typing import TYPE_CHECKING

import pytest

from connector.replication.beside_others import OthersWork
from connector.replication.read_pace import (
    CountedStatements,
    Figure,
    ReadPace,
    ServerSample,
    chunk_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 10_000
LEAST = 1 / 32


@dataclass
class Server:
    """Answers reads at a price that its load decides; one thread reads all the time."""

    pace: ReadPace
    now: float = 0.0
    # What it says at a time, and how long a read takes there.
    says: Callable[[float], ServerSample] = lambda _: ServerSample(2)
    read_seconds: Callable[[float], float] = lambda _: 0.1
    reads: list[tuple[float, float]] = field(default_factory=list)
    paces: list[float] = field(default_factory=list)
    sampled_at: float = -1.0
    rows: int = ROWS  # of a read

    def run(self, seconds: float) -> None:
        """Let time go by."""
        end = self.now + seconds
        while self.now < end:
            if self.now - self.sampled_at >= 0.5:
                self.sampled_at = self.now
                self.pace.take(self.says(self.now), self.now)
                self.paces.append(self.pace.pace)
            waiting = self.pace.wait_seconds(self.now)
            if waiting:
                self.now += min(waiting, 1.0)
                continue
            self.pace.begin(self.now)
            took = self.read_seconds(self.now)
            self.reads.append((self.now, took))
            self.now += took
            self.pace.end("t", self.rows, took, self.now)

    def part_read(self, since: float) -> float:
        """Return for which part of the time since then the server was read."""
        return sum(took for at, took in self.reads if at >= since) / (self.now - since)


def held_by(server: Server) -> Figure | None:
    """Return why the pace does not grow."""
    hold = server.pace.hold
    return None if hold is None else hold.figure


def test_the_pace_grows_slowly_to_the_most_that_is_allowed() -> None:
    server = Server(ReadPace(4, 0.0))
    assert server.pace.pace == 1.0
    server.run(10)
    assert 2.0 < server.pace.pace < 3.5
    assert all(after - before <= 0.5 for before, after in pairwise(server.paces))
    server.run(30)
    assert server.pace.pace == 4.0
    assert server.pace.hold is None


@pytest.mark.parametrize(
    ("sample", "figure"),
    [
        (ServerSample(40), Figure.THREADS),
        (ServerSample(2, lag_seconds=60.0), Figure.LAG),
    ],
)
def test_beyond_a_limit_the_pace_is_halved_to_the_least_and_grows_again_afterwards(
    sample: ServerSample, figure: Figure
) -> None:
    server = Server(ReadPace(2, 0.0, threads_max=20), says=lambda _: sample)
    server.run(3)
    assert server.pace.pace < 1.0
    server.run(60)
    assert server.pace.pace == LEAST
    assert held_by(server) is figure
    # Reading goes on all the same, for the part of the time that the least pace is.
    assert server.part_read(since=20.0) == pytest.approx(LEAST, rel=0.3)
    server.says = lambda _: ServerSample(2, lag_seconds=0.0)
    # Those that ran count for a while.
    server.run(60)
    assert held_by(server) is None
    assert server.pace.pace == 2.0


@pytest.mark.parametrize(
    "sample", [ServerSample(18), ServerSample(2, lag_seconds=6.0)], ids=["threads", "lag"]
)
def test_near_a_limit_the_pace_is_held(sample: ServerSample) -> None:
    server = Server(ReadPace(2, 0.0, threads_max=20), says=lambda _: sample)
    server.run(60)
    assert server.pace.pace == 1.0
    assert server.pace.hold is not None


def test_a_replica_that_catches_up_lets_the_pace_be() -> None:
    server = Server(ReadPace(2, 0.0), says=lambda now: ServerSample(2, 600.0 - now))
    server.run(60)
    assert server.pace.pace >= 0.5


def test_what_is_usual_at_a_server_is_no_reason_to_starve() -> None:
    server = Server(ReadPace(2, 0.0), says=lambda _: ServerSample(60))
    server.run(60)
    assert server.pace.pace == 2.0
    server.says = lambda _: ServerSample(120)
    server.run(10)
    assert server.pace.pace < 0.1
    assert server.pace.hold is not None
    assert (server.pace.hold.figure, server.pace.hold.value) == (Figure.THREADS, 120)


def test_rows_that_take_longer_because_of_reading_find_a_pace_without_wild_swings() -> None:
    """Each read at a time makes rows slower: beyond half a read, four times as slow and more."""
    pace = ReadPace(2, 0.0)
    server = Server(pace, read_seconds=lambda _: 0.05 if pace.pace < 0.5 else 0.3)
    server.reads.clear()
    # The least latency is known from a time when nobody else was there.
    pace.begin(0.0)
    pace.end("t", ROWS, 0.05, 0.05)
    server.run(300)
    late = server.paces[len(server.paces) // 2 :]
    assert min(late) >= 0.2
    assert max(late) <= 0.8
    changes = [after / before for before, after in pairwise(late)]
    assert min(changes) >= 0.5
    assert max(changes) <= 1.5


def test_a_latency_that_reading_does_not_cause_becomes_the_measure() -> None:
    """The rest of the table is not in memory: each row takes ten times as long, at any pace."""
    server = Server(ReadPace(2, 0.0), read_seconds=lambda now: 0.05 if now < 30 else 0.5)
    server.run(30)
    assert server.pace.pace > 1.5
    server.run(20)
    assert server.pace.pace < 1.0
    server.run(120)
    assert server.pace.pace == 2.0


def test_one_statement_reads_few_rows_beside_others_and_as_many_as_wanted_without_them() -> None:
    """240 short statements a second are hardly ever seen as running threads."""
    work = OthersWork(0, 0.0)

    def says(now: float) -> ServerSample:
        nonlocal work
        if 20.0 < now < 60.0:
            work = OthersWork(work.statements + 120, work.seconds + 120 * 0.0005)
        return ServerSample(2, work=work)

    server = Server(ReadPace(4, 0.0), says=says)
    server.run(19.0)
    assert server.pace.statement_rows > 1_000_000_000
    server.run(40.0)
    assert server.pace.statement_rows == 200
    assert held_by(server) is Figure.OTHERS
    server.run(60.0)
    assert server.pace.statement_rows > 1_000_000_000
    assert held_by(server) is None


def test_a_read_that_has_rested_owes_no_more_than_what_followed() -> None:
    pace, now = ReadPace(4, 0.0, adapts=True), 0.0
    pace.pace = 0.25
    for _ in range(3):
        assert not pace.wait_seconds(now)
        pace.begin(now)
        now += 0.1
        pace.rest(0.1, now)
        # A quarter of the time is for reading.
        assert pace.wait_seconds(now) == pytest.approx(0.3)
        now += 0.3
    pace.begin(now)
    now += 0.1
    pace.end("t", ROWS, 0.4, now, paid=0.3)
    assert pace.wait_seconds(now) == pytest.approx(0.3)


def counted(rates: Callable[[float], float]) -> Callable[[float], ServerSample]:
    """Return what a server says where others send so many statements a second."""
    others, before = 0.0, 0.0

    def says(now: float) -> ServerSample:
        nonlocal others, before
        others, before = others + rates(now) * (now - before), now
        every = 1_000_000 + round(300 * now)
        return ServerSample(2, counted=CountedStatements(every, every - others), server="a")

    return says


def test_statements_that_the_server_counts_are_those_of_others() -> None:
    """Their number is known about only; one near the limit does not change the mode each time."""
    dice = random.Random(7)
    # From one second to another, and how many they are.
    rates: dict[float, Callable[[], float]] = {
        60.0: lambda: dice.uniform(-200.0, 200.0),
        90.0: lambda: 30.0,
        150.0: lambda: 15.0,
    }
    is_short = {}
    server = Server(
        ReadPace(2, 0.0),
        says=counted(lambda now: next((rate() for end, rate in rates.items() if now < end), 5.0)),
    )
    for end in (*rates, 210.0):
        server.run(end - server.now)
        is_short[end] = server.pace.statement_rows == 200
    assert is_short == {60.0: False, 90.0: True, 150.0: True, 210.0: False}


def test_the_counter_of_another_server_is_no_work_of_others() -> None:
    server = Server(ReadPace(2, 0.0))

    def require_nobody(name: str, count: int) -> None:
        counted = CountedStatements(count, 0.0)
        server.says = lambda _: ServerSample(2, counted=counted, server=name)
        server.run(20)
        assert server.pace.statement_rows > 1_000_000_000

    require_nobody("a", 1)
    require_nobody("b", 1_000_000_000)
    require_nobody("b", 5)


def test_others_are_counted_after_a_restart_of_the_server() -> None:
    """It has counted fewer statements then than this process has sent before."""

    def says(now: float, others: float, since: float) -> ServerSample:
        """Return a sample; this process sends 10 statements a second."""
        own = 10 * now
        every = round((others + 10) * (now - since))
        return ServerSample(2, counted=CountedStatements(every, own), server="a")

    server = Server(ReadPace(2, 0.0), says=lambda now: says(now, 0.0, 0.0))
    server.run(600)
    assert server.pace.statement_rows > 1_000_000_000
    server.says = lambda now: says(now, 0.0, 600.0)
    server.run(20)
    assert server.pace.statement_rows > 1_000_000_000
    server.says = lambda now: says(now, 40.0, 600.0)
    server.run(20)
    assert server.pace.statement_rows == 200


def test_short_statements_at_the_least_pace_become_the_measure() -> None:
    """Rows take ten times as long as they did once, whatever is read."""
    pace = ReadPace(2, 0.0)
    server = Server(pace, says=counted(lambda _: 500.0), rows=200, read_seconds=lambda _: 0.002)
    server.run(20)
    server.read_seconds = lambda _: 0.02
    server.run(120)
    assert held_by(server) is Figure.OTHERS
    assert pace.pace == 0.5


def test_beside_others_half_a_read_at_a_time_is_the_most() -> None:
    """Somebody runs short statements: every second look sees one, beside two threads that stay."""
    counts = cycle((2, 3))
    server = Server(ReadPace(4, 0.0), says=lambda _: ServerSample(next(counts)))
    server.run(30)
    assert server.pace.pace == 0.5
    assert held_by(server) is Figure.OTHERS
    assert server.part_read(since=15.0) == pytest.approx(0.5, rel=0.1)
    server.says = lambda _: ServerSample(2)
    server.run(60)
    assert server.pace.pace == 4.0
    more = cycle((2, 5))
    server.says = lambda _: ServerSample(next(more))
    server.run(20)
    assert server.pace.pace == 0.5


@pytest.mark.parametrize("fewer_at", [0.5, 60.0])
def test_one_look_that_sees_fewer_threads_than_usual_makes_no_others(fewer_at: float) -> None:
    """As the first looks of a comparison that begins when something else has just ended."""
    server = Server(ReadPace(2, 0.0), says=lambda now: ServerSample(3 if now < fewer_at else 2))
    shortest = inf
    while server.now < fewer_at + 20:
        server.run(0.5)
        shortest = min(shortest, server.pace.statement_rows)
    assert shortest > 1_000_000_000
    assert server.pace.pace == 2.0


def test_a_pause_of_our_own_reads_does_not_hide_others_that_come_then() -> None:
    pace = ReadPace(8, 0.0)
    # Eight reads of our own, beside one thread that stays.
    for second in range(600):
        pace.take(ServerSample(9, own_running=8.0), float(second))
    pace.take(ServerSample(1), 600.0)
    pace.take(ServerSample(9, own_running=8.0), 600.5)
    assert pace.statement_rows > 1_000_000_000
    pace.take(ServerSample(13, own_running=8.0), 601.0)
    assert pace.statement_rows == 200


@dataclass
class Application:
    """Sends statements at a steady rate; each takes longer where reading leaves no core for it."""

    pace: ReadPace
    cores: int
    rate: float = 200.0
    seconds: float = 0.005
    # By which part a statement takes longer, for reasons of its own.
    noise: Callable[[], float] = lambda: 0.0
    statements: float = 0.0
    total: float = 0.0
    at: float = 0.0
    rises: list[float] = field(default_factory=list)

    def says(self, now: float) -> ServerSample:
        """Tell what was done until now."""
        elapsed, self.at = now - self.at, now
        busy = self.rate * self.seconds + self.pace.pace
        self.rises.append(max(1.0, busy / self.cores))
        self.statements += elapsed * self.rate
        took = self.seconds * self.rises[-1] * (1 + self.noise())
        self.total += elapsed * self.rate * took
        return ServerSample(2, work=OthersWork(int(self.statements), self.total))


def test_beside_others_more_is_read_where_their_statements_take_no_longer_for_it() -> None:
    pace = ReadPace(4, 0.0)
    server = Server(pace, says=Application(pace, cores=32).says)
    server.run(25)
    assert (pace.pace, held_by(server)) == (0.5, Figure.OTHERS)
    server.run(215)
    assert pace.pace == 4.0
    assert held_by(server) is Figure.OTHERS
    steps = {after - before for before, after in pairwise(server.paces[60:])}
    assert max(steps) <= 0.5


def test_where_statements_of_others_take_longer_the_trials_become_rare() -> None:
    """Two cores, of which others need one: one read at a time costs them nothing."""
    pace = ReadPace(4, 0.0)
    application = Application(pace, cores=2)
    server = Server(pace, says=application.says)
    server.run(7200)
    # A trial has half a read more.
    assert max(application.rises) <= 1.4
    late = application.rises[len(application.rises) // 2 :]
    assert sum(late) / len(late) < 1.02
    assert server.part_read(since=3600.0) >= 0.5


def test_statements_whose_time_differs_anyway_do_not_end_the_growth() -> None:
    pace = ReadPace(4, 0.0)
    dice = random.Random(3)
    server = Server(pace, says=Application(pace, 32, noise=lambda: dice.uniform(-0.5, 0.5)).says)
    server.run(900)
    assert pace.pace >= 2.0


def test_statements_that_become_slower_by_themselves_are_the_new_measure() -> None:
    pace = ReadPace(4, 0.0)
    application = Application(pace, cores=32)
    server = Server(pace, says=application.says)
    server.run(240)
    application.seconds *= 2
    server.run(30)
    assert pace.pace <= 1.0
    server.run(400)
    assert pace.pace == 4.0


def test_a_server_that_counts_from_zero_again_is_measured_again() -> None:
    pace = ReadPace(2, 0.0)
    application = Application(pace, cores=32)
    server = Server(pace, says=application.says)
    server.run(20)
    application.statements = application.total = 0.0
    server.run(200)
    assert pace.pace == 2.0


def test_one_slow_read_holds_the_pace_and_three_halve_it() -> None:
    pace = ReadPace(2, 0.0)
    paces = []
    for second, took in enumerate((0.02, 0.3, 0.02, 0.3, 0.3, 0.02, 0.3, 0.3, 0.3)):
        pace.begin(float(second))
        pace.end("t", ROWS, took, second + took)
        before = pace.pace
        pace.take(ServerSample(2), second + 0.5)
        paces.append(round(pace.pace - before, 3))
    grown = 0.1
    assert paces[:8] == [grown / 2, 0, grown, 0, 0, grown, 0, 0]
    assert paces[8] < 0
    assert pace.hold is not None
    assert pace.hold.figure is Figure.LATENCY


@pytest.mark.parametrize("seed", range(3))
def test_reads_that_are_slow_now_and_then_do_not_starve_reading(seed: int) -> None:
    """Four of ten reads wait for a core, at any pace."""
    dice = random.Random(seed)
    server = Server(
        ReadPace(2, 0.0), read_seconds=lambda _: 0.04 * (8 if dice.random() < 0.4 else 1)
    )
    server.run(120)
    late = server.paces[len(server.paces) // 2 :]
    assert sum(late) / len(late) > 0.5


def test_a_table_costs_as_much_as_rows_if_one_statement_reads_many() -> None:
    """Fifty tables of ten rows, then ten of a thousand: a row of them is not slower than before."""
    pace = ReadPace(2, 0.0)
    for tables, rows in ((10, 10_000), (50, 500)):
        pace.begin(0.0)
        pace.end("small", rows, 0.01 + 0.002 * tables, 0.1, tables=tables)
    pace.take(ServerSample(2), 1.0)
    before = pace.hold
    pace.begin(1.0)
    pace.end("small", 500, 1.0, 2.0, tables=50)
    pace.take(ServerSample(2), 2.0)
    assert before is None
    assert pace.hold is not None
    assert pace.hold.figure is Figure.LATENCY


def test_reads_of_ones_own_are_nobody_else() -> None:
    """Whether a read is a statement at this moment, nobody knows."""
    pace = ReadPace(2, 0.0)
    pace.take(ServerSample(2), 0.5)
    pace.begin(0.5)
    for look in range(2, 80):
        pace.take(ServerSample(2 + look % 2, own_running=1), look / 2)
    assert pace.hold is None
    assert pace.pace == 2.0


def test_only_the_users_query_stops_everything() -> None:
    server = Server(ReadPace(2, 0.0, adapts=False), says=lambda _: ServerSample(500, 900.0))
    server.run(10)
    assert server.part_read(since=0.0) == pytest.approx(1.0, rel=0.05)
    server.says = lambda _: ServerSample(pause=1.5)
    server.run(1)
    reads = len(server.reads)
    server.run(300)
    assert len(server.reads) == reads
    assert server.pace.wait_seconds(server.now) == inf
    assert server.pace.hold is not None
    assert (server.pace.hold.figure, server.pace.hold.value) == (Figure.QUERY, 1.5)
    server.says = lambda _: ServerSample()
    server.run(2)
    assert len(server.reads) > reads


def test_reads_at_a_time_are_no_more_than_the_pace() -> None:
    pace = ReadPace(4, 0.0)
    pace.begin(0.0)
    assert pace.wait_seconds(0.0) > 0
    pace.take(ServerSample(2), 1.0)
    assert 1.0 < pace.pace < 2.0
    assert pace.wait_seconds(1.0) == 0
    pace.begin(1.0)
    assert pace.wait_seconds(1.0) > 0
    pace.end("t", 1, 0.5, 1.5)
    assert pace.wait_seconds(1.5) < 0.5


def test_so_many_rows_are_read_a_second() -> None:
    server = Server(ReadPace(2, 0.0, rows_per_second=5 * ROWS, adapts=False))
    server.run(60)
    assert len(server.reads) == pytest.approx(60 * 5, rel=0.05)


def test_a_chunk_is_made_smaller_until_it_takes_half_a_second() -> None:
    assert chunk_rows(20_000, 20_000, 2.0) == 5000
    assert chunk_rows(20_000, 5000, 0.1) == 20_000
    assert chunk_rows(20_000, 0, 3.0) == 20_000
    assert chunk_rows(20_000, 1, 30.0) == 1
