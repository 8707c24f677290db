"""How much may be read beside others, by how long their statements take: a part of the law of pace.

Half a read at a time is the most at first: the smallest of servers has a core for others then.
Nobody says how many cores a server has, but it may say how long the statements of others take. If
it does, half a read more is tried at a time, and stays if their statements take no longer than
before. If they do, the most is halved, and the next trial comes later.

This reads no clock.
"""

from math import inf
from typing import Final, NamedTuple

_LEAST_READS: Final = 0.5
# A trial of more beside others: its length, and the statements whose mean time tells what it costs.
_TRIAL_SECONDS: Final = 10.0
_STATEMENTS_MIN: Final = 200
# So many times at the least of reads tell what is usual, and by which part such times differ.
_MEASURES: Final = 3
_SPREAD_MAX: Final = 0.25
# The time of others' statements, beside the usual one, from which on reading costs too much; with
# the part by which times differ anyway. And the time of our own rows, beside the least one.
_RISE: Final = 1.1
_OWN_RISE: Final = 1.5
# From one trial that failed to the next one; doubled each time.
_RETRY_SECONDS: Final = (60.0, 1800.0)


class OthersWork(NamedTuple):
    """What statements of others have done at the server since it began to count."""

    statements: int
    seconds: float  # that they took, together


class BesideOthers:
    """How many reads at a time are allowed beside others: by how long their statements take."""

    def __init__(self, reads_max: int) -> None:
        """Never allow more than `reads_max`."""
        self._reads_max = float(reads_max)
        self.most = min(self._reads_max, _LEAST_READS)
        # Where the mean that is measured now begins.
        self._begun: tuple[OthersWork, float] | None = None
        # The mean at the least of reads, and by which part its measures differ.
        self._usual = 0.0
        self._spread = 0.0
        self._measures = 0
        self._retry_at = -inf
        self._retry_seconds = _RETRY_SECONDS[0]

    def take(self, work: OthersWork, pace: float, own_latency: float, now: float) -> None:
        """Change the most by what others have done while reading was at a `pace`.

        `own_latency` is that of the rows that were read, as a multiple of the least one.
        """
        if pace < self.most:
            # Something else holds reading back: nothing can be told of the most.
            self.forget()
            return
        if self._begun is None or work.statements < self._begun[0].statements:
            self._begun = work, now
            return
        before, at = self._begun
        statements = work.statements - before.statements
        if now - at < _TRIAL_SECONDS or statements < _STATEMENTS_MIN:
            return
        self._begun = work, now
        mean = (work.seconds - before.seconds) / statements
        if self.most <= _LEAST_READS:
            self._measure(mean)
            costs_much = self._measures < _MEASURES
        else:
            costs_much = mean > self._usual * (_RISE + min(self._spread, _SPREAD_MAX))
            if costs_much:
                self._fall(now)
        if not costs_much and own_latency <= _OWN_RISE and now >= self._retry_at:
            self.most = min(self._reads_max, self.most + _LEAST_READS)

    def forget(self) -> None:
        """Begin to measure again: nobody else works, or reading is held back."""
        self._begun = None

    def _measure(self, mean: float) -> None:
        """Note what statements take at the least of reads."""
        self._measures += 1
        if self._measures == 1:
            self._usual, self._spread = mean, 0.0
            return
        part = 1 / min(self._measures, _MEASURES)
        self._spread += (abs(mean - self._usual) / max(self._usual, 1e-9) - self._spread) * part
        self._usual += (mean - self._usual) * part

    def _fall(self, now: float) -> None:
        self.most = max(_LEAST_READS, self.most / 2)
        self._measures = 0
        self._retry_at = now + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, _RETRY_SECONDS[1])
