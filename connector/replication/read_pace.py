"""The law of pace: how much may be read at a server, by what the server says.

The pace is a number of reads at a time: at 0.25, one connection reads for a quarter of the time. It
grows slowly while the server has room, is held when a figure comes near its limit, and is halved
when one is beyond it. The figures are the running threads, how late the server is as a replica, and
the time that a row takes, beside the least time that it took before.

Beside others, `beside_others.py` says what is the most. More reads are allowed if nobody else works
there. Threads that run all the time, as those that send the log to replicas do, are no work.

A read has one statement if nobody else works at the server, and many short ones with rests between
them beside others. For what others wait for on a busy core is the end of the statement that runs.

The law never stops reading for ever: at the least pace, one connection reads for a 32nd of the
time. What a row takes then is not caused by reading, so it is what later rows are compared with.
Only a query of the user stops everything, for as long as it wants that.

One read that takes long halves nothing: on a busy machine, a statement of a few milliseconds may
wait for a core for many times as long, and so may one that opens its tables. Three reads, one after
the other, show that the server has become slower. Until then, the pace is held.

The law reads no clock. It is an additive increase and a multiplicative decrease, as TCP has it:
https://www.rfc-editor.org/rfc/rfc5681
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from enum import IntEnum, StrEnum
from math import ceil, inf
from typing import Final, NamedTuple

from connector.foundation.errors.message import Message
from connector.replication.beside_others import BesideOthers, OthersWork

# A SELECT should not take longer: an ALTER TABLE waits for it, and others wait for that.
CHUNK_SECONDS: Final = 0.5


class Figure(StrEnum):
    """What the server says."""

    THREADS = "threads"  # running ones
    LAG = "lag"  # of the server as a replica, seconds
    LATENCY = "latency"  # of a row, as a multiple of the least one
    OTHERS = "others"  # statements of others at a time, above the fewest of late
    QUERY = "query"  # of the user


class Hold(NamedTuple):
    """Why the pace does not grow."""

    figure: Figure
    value: float
    limit: float
    per_second: float = 0.0  # statements of others


class PaceState(NamedTuple):
    """The pace at one time, for people."""

    reads: float  # that are allowed at a time
    held_by: Figure | None = None  # why they do not become more
    why: Message | None = None


class CountedStatements(NamedTuple):
    """Two counters of statements, whose difference grows by those of others."""

    all: int  # since the server was started
    own: float  # since this process was started; about, for they go on while the server counts


class ServerSample(NamedTuple):
    """What a server said at one time; None for what it does not say."""

    threads_running: int | None = None  # all of them
    lag_seconds: float | None = None  # None if it is no replica
    pause: float = 0.0  # what the query of the user returned: above 0, nothing is read
    work: OthersWork | None = None  # None, too, if it was not asked
    # About how many statements others have sent, of servers without `work`.
    counted: CountedStatements | None = None
    own_running: float = 0.0  # reads that may have run when it said that
    server: Hashable = None  # which one: another one counts from elsewhere


class _Room(IntEnum):
    FREE = 0
    NEAR = 1
    BEYOND = 2


# The least pace.
_LEAST: Final = 1 / 32
# From nothing to the most.
_GROWTH_SECONDS: Final = 20.0
# After the pace was halved, the server needs so long to show what came of it.
_HALVING_SECONDS: Final = 1.0
# Nobody waits for less.
_SECONDS_MIN: Final = 1e-4
# Others may have ended their reads then.
_TURN_SECONDS: Final = 0.01
# Without a sample for longer than this, nothing is known of the time between.
_SAMPLE_SECONDS_MAX: Final = 2.0
# Nobody reads much at once after a pause.
_CREDIT_SECONDS: Final = 1.0
# More running threads are a load; where more of them are usual, half more than usual.
_THREADS: Final = 25
_ABOVE_USUAL: Final = 1.5
_USUAL_SECONDS: Final = 600.0
_NEAR: Final = 0.8
# So many statements of others at a time, or in a second, are others; the means of some seconds.
# What monitors a server asks less.
_OTHERS: Final = 0.25
_OTHERS_PER_SECOND: Final = 20.0
# Until they send less than this part of it, they are still there.
_OTHERS_LEFT: Final = 0.5
_OTHERS_SECONDS: Final = 5.0
# Of one statement beside others: it takes about a third of a millisecond. And if nobody else is
# there.
_ROWS_BESIDE_OTHERS: Final = 200
ROWS_ALONE: Final = 1 << 62
_LAG_SECONDS: Final = (3.0, 10.0)  # near, beyond
_LATENCIES: Final = (2.0, 4.0)
# So many reads have to take so long before the pace is halved for it.
_SLOW_READS: Final = 3
# Fewer rows show what a statement takes, and not what a row takes.
_ROWS_MIN: Final = 1000
# Where one statement reads many tables, each takes about as long as so many rows.
_ROWS_OF_A_TABLE: Final = 200
# The least latency is forgotten: after so long, it counts twice.
_FLOOR_SECONDS: Final = 600.0
_FLOORS_MAX: Final = 64


class _Rate:
    """How fast a counter grows: the mean of some seconds."""

    def __init__(self) -> None:
        self._mean = 0.0
        self._last: tuple[float, float, float] | None = None

    @property
    def per_second(self) -> float:
        """The mean; what is known only about may fall a little."""
        return max(0.0, self._mean)

    def take(self, count: float, now: float, own: float = 0.0) -> None:
        """Take what the counter says now, and what part of it is our own, since any time.

        After a restart of the server, the counter begins again.
        """
        if self._last is not None and count >= self._last[0]:
            before, own_before, at = self._last
            elapsed = max(now - at, 1e-6)
            grown = (count - before - (own - own_before)) / elapsed
            self._mean += (grown - self._mean) * min(1.0, elapsed / _OTHERS_SECONDS)
        self._last = count, own, now


class _Floor(NamedTuple):
    seconds: float  # a row
    at: float


class ReadPace:
    """The law; its caller says what time it is, in seconds, and lets one thread call at a time."""

    def __init__(
        self,
        reads_max: int,
        now: float,
        *,
        threads_max: int = 0,
        rows_per_second: int = 0,
        adapts: bool = True,
    ) -> None:
        """Allow at most `reads_max` reads at a time, and `rows_per_second`; 0 does not limit them.

        More running threads than `threads_max` are too many; 0: what is usual says so. Without
        `adapts`, only the user's query and `rows_per_second` hold reading back.
        """
        self._reads_max = reads_max
        self._threads_max = threads_max
        self._rows_per_second = rows_per_second
        self._adapts = adapts
        # Reads at a time.
        self.pace = 1.0 if adapts else float(reads_max)
        # Why the pace does not grow; None if it does, or cannot.
        self.hold: Hold | None = None
        # How many rows one statement may read.
        self.statement_rows = ROWS_ALONE
        self._running = 0
        self._sampled_at = self._paid_at = now
        self._halved_at = -inf
        self._is_stopped = False
        # What was read and not yet waited for.
        self._owed_seconds = 0.0
        self._owed_rows = 0.0
        self._usual_threads = 0.0
        # Threads of others: the mean of late, and the fewest; None before the first sample.
        self._others = 0.0
        self._fewest: float | None = None
        # Their statements: seconds and number, as the server has measured them, and the number as
        # the server's own counter tells it.
        self._measured, self._ended, self._counted = _Rate(), _Rate(), _Rate()
        self._server: Hashable = None
        self._lag = 0.0
        # The least of the latencies of late, as a multiple of the floor, and whether one was
        # measured since the last sample.
        self._latency = 1.0
        self._is_measured = False
        # The latencies of the last reads.
        self._last_reads: deque[float] = deque(maxlen=_SLOW_READS)
        self._floors: OrderedDict[Hashable, _Floor] = OrderedDict()
        self._beside = BesideOthers(reads_max)

    def wait_seconds(self, now: float) -> float:
        """Return for how long nothing may be read, as far as is known now; 0: a read may begin."""
        if self._is_stopped:
            return inf
        self._pay(now)
        seconds = 0.0
        if self.pace < self._reads_max:
            seconds = max(seconds, self._owed_seconds / self.pace)
            if self._running >= ceil(self.pace):
                seconds = max(seconds, _TURN_SECONDS)
        if self._rows_per_second:
            seconds = max(seconds, self._owed_rows / self._rows_per_second)
        return seconds if seconds > _SECONDS_MIN else 0.0

    def begin(self, now: float) -> None:
        """Note that a read begins."""
        self._pay(now)
        self._running += 1

    @property
    def running(self) -> int:
        """How many reads run."""
        return self._running

    def rest(self, seconds: float, now: float) -> None:
        """Note that a read rests, after so long; it goes on with `begin`."""
        self._pay(now)
        self._running -= 1
        self._owed_seconds += seconds

    def end(
        self,
        kind: Hashable,
        rows: int,
        seconds: float,
        now: float,
        *,
        tables: int = 1,
        paid: float = 0.0,
    ) -> None:
        """Note that a read of `rows` has taken so long; rows of one `kind` are alike.

        They are of so many `tables`. After so many `paid` seconds of it, it has rested.
        """
        self.rest(seconds - paid, now)
        self._owed_rows += rows
        size = rows + (tables - 1) * _ROWS_OF_A_TABLE
        if size >= min(_ROWS_MIN, self.statement_rows):
            self._measure(kind, max(seconds, 1e-6) / size, now)

    def take(self, sample: ServerSample, now: float) -> None:
        """Change the pace by what the server says."""
        self._pay(now)
        elapsed = min(now - self._sampled_at, _SAMPLE_SECONDS_MAX)
        self._sampled_at = now
        self._is_stopped = sample.pause > 0
        room, self.hold = _Room.FREE, None
        if self._is_stopped:
            self.hold = Hold(Figure.QUERY, sample.pause, 0.0)
            return
        if not self._adapts:
            return
        self._note_statements(sample, now)
        beside = self._beside_others(sample, elapsed)
        self.statement_rows = ROWS_ALONE if beside is None else _ROWS_BESIDE_OTHERS
        if beside is None:
            self._beside.forget()
        elif sample.work is not None:
            self._beside.take(sample.work, self.pace, self._latency, now)
        most = float(self._reads_max) if beside is None else self._beside.most
        for found, hold in (
            self._threads(sample, elapsed),
            self._late(sample),
            self._slow(),
            (_room(self.pace, most - 1e-9, most), beside),
        ):
            if found > room and hold is not None:
                room, self.hold = found, hold
        if room is _Room.FREE:
            grown = self.pace + elapsed * self._reads_max / _GROWTH_SECONDS
            self.pace = min(grown, most)
        elif room is _Room.BEYOND and now - self._halved_at >= _HALVING_SECONDS:
            self._halved_at = now
            only_others = self.hold is not None and self.hold.figure is Figure.OTHERS
            self.pace = max(most if only_others else _LEAST, self.pace / 2)

    def _note_statements(self, sample: ServerSample, now: float) -> None:
        """Note what statements others have sent."""
        if sample.server != self._server:
            self._server = sample.server
            self._measured, self._ended, self._counted = _Rate(), _Rate(), _Rate()
        if sample.work is not None:
            self._measured.take(sample.work.seconds, now)
            self._ended.take(sample.work.statements, now)
        if sample.counted is not None:
            self._counted.take(sample.counted.all, now, sample.counted.own)

    def _beside_others(self, sample: ServerSample, elapsed: float) -> Hold | None:
        """Return that others work at the server, too."""
        running = sample.threads_running
        if running is None:
            return None
        # A read that goes on need not be a statement at this moment. So others are at least these,
        # and at most all; what is between counts as nobody's.
        least = max(0.0, running - sample.own_running)
        if self._fewest is None:
            self._others = self._fewest = float(running)
            return None
        part = min(1.0, elapsed / _USUAL_SECONDS)
        fewest = min(float(running), self._fewest + (running - self._fewest) * part)
        # One sample of few does not make work of what was usual until then. Others are no fewer
        # for it than these few: the rest of the usual threads were our own reads.
        fallen = self._others + min(0.0, fewest - self._fewest)
        self._others = max(fallen, min(self._others, fewest))
        self._fewest = fewest
        self._others += (least - self._others) * min(1.0, elapsed / _OTHERS_SECONDS)
        # What they have measured has ended.
        above = max(self._others - self._fewest, self._measured.per_second)
        per_second = max(self._ended.per_second, self._counted.per_second)
        is_known = self.statement_rows != ROWS_ALONE
        many = _OTHERS_PER_SECOND * (_OTHERS_LEFT if is_known else 1.0)
        if above <= _OTHERS and per_second <= many:
            return None
        return Hold(Figure.OTHERS, above, self._beside.most, per_second)

    def _threads(self, sample: ServerSample, elapsed: float) -> tuple[_Room, Hold | None]:
        running = sample.threads_running
        if running is None:
            return _Room.FREE, None
        limit = float(self._threads_max)
        if not limit:
            others = max(0.0, running - sample.own_running)
            part = min(1.0, elapsed / _USUAL_SECONDS) if self._usual_threads else 1.0
            self._usual_threads += (others - self._usual_threads) * part
            limit = self._running + max(_THREADS, _ABOVE_USUAL * self._usual_threads)
        hold = Hold(Figure.THREADS, running, limit)
        return _room(running, limit * _NEAR, limit), hold

    def _late(self, sample: ServerSample) -> tuple[_Room, Hold | None]:
        lag, before = sample.lag_seconds, self._lag
        if lag is None:
            return _Room.FREE, None
        self._lag = lag
        near, limit = _LAG_SECONDS
        room = _room(lag, near, limit)
        if room is _Room.BEYOND and lag < before:
            # It catches up beside what is read.
            room = _Room.NEAR
        return room, Hold(Figure.LAG, lag, limit)

    def _slow(self) -> tuple[_Room, Hold | None]:
        near, limit = _LATENCIES
        room = _room(self._latency, near, limit)
        if not self._is_measured or min(self._last_reads) <= limit:
            # Nothing was read since the last sample, or few reads were slow: what is known holds
            # the pace, and no more.
            room = min(room, _Room.NEAR)
        self._is_measured = False
        return room, Hold(Figure.LATENCY, self._latency, limit)

    def _measure(self, kind: Hashable, seconds: float, now: float) -> None:
        floor = self._floors.pop(kind, None)
        least = seconds
        if floor is not None and self.pace > _LEAST:
            least = min(seconds, floor.seconds * 2 ** ((now - floor.at) / _FLOOR_SECONDS))
        self._floors[kind] = _Floor(least, now)
        if len(self._floors) > _FLOORS_MAX:
            self._floors.popitem(last=False)
        latency = seconds / least
        self._last_reads.append(latency)
        self._latency = min(self._latency, latency) if self._is_measured else latency
        self._is_measured = True

    def _pay(self, now: float) -> None:
        """Let what was read be paid by the time that has gone by."""
        elapsed, self._paid_at = now - self._paid_at, now
        # What is being read is not owed before its end, and meanwhile time goes by for it.
        least = -_CREDIT_SECONDS if self._running else 0.0
        self._owed_seconds = max(least, self._owed_seconds - elapsed * self.pace)
        credit = -_CREDIT_SECONDS * self._rows_per_second
        self._owed_rows = max(credit, self._owed_rows - elapsed * self._rows_per_second)


def _room(value: float, near: float, limit: float) -> _Room:
    if value > limit:
        return _Room.BEYOND
    return _Room.NEAR if value > near else _Room.FREE


def chunk_rows(limit: int, rows: int, seconds: float) -> int:
    """Return how many rows the next chunk may have, if `rows` took so long: at most `limit`."""
    if not rows or seconds <= 0:
        return limit
    return max(1, min(limit, int(rows * CHUNK_SECONDS / seconds)))
