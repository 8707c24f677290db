"""The states of rows that the log tells, and what they say about a row of the target.

The target may have any value that the row had at a moment of the last `lag` seconds. A value that
the row had before is stale; one that it never had, as far as the log tells, is different.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from connector.binlog.gtid import Gtid, MariadbGtid
from connector.stream.snapshot.watermark import LogPosition
from verification.digests import Digest
from verification.foreign.tolerance import NearRow

_US: Final = 1_000_000


class Unknown:
    """The state of a row that the log does not have as a whole (binlog_row_image=MINIMAL)."""


UNKNOWN: Final = Unknown()
Value = Digest | NearRow | Unknown | None  # None: there is no row

Kind = Literal["missing", "surplus", "different", "stale", "doubled"]


class Change(NamedTuple):
    """What the log says of one change."""

    committed_us: int  # not earlier than the commit; microseconds since 1970
    place: str  # the GTID, or FILE:POSITION
    logged_us: int  # the time in the log
    gtid: Gtid | MariadbGtid | None = None
    position: LogPosition | None = None  # where its transaction begins in the log

    @property
    def has_commit_time(self) -> bool:
        """Whether the log tells when it was committed."""
        return self.committed_us == self.logged_us

    @property
    def time(self) -> str:
        """The time in the log, as ISO 8601."""
        at = datetime.fromtimestamp(self.logged_us / _US, UTC)
        return at.isoformat(timespec="milliseconds")


class DefinitionMoment(NamedTuple):
    """When the definition of a table was read: its columns are those after all earlier changes."""

    time_us: int  # by the clock of the source, in microseconds since 1970
    log_end: LogPosition | None = None  # before `time_us`, if the log has no times of commits

    def is_after(self, change: Change) -> bool:
        """Return whether a change was committed before."""
        if self.log_end is None:
            return change.committed_us < self.time_us
        return change.position is not None and change.position < self.log_end


@dataclass(slots=True)
class KeyStates:
    """The states of one key, in order; each but the first one has the change that made it."""

    values: list[Value] = field(default_factory=list)
    changes: list[Change | None] = field(default_factory=list)

    @classmethod
    def quiet(cls, value: Value) -> "KeyStates":
        """Return the states of a key that did not change."""
        return cls([value], [None])

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.values)

    def ended_with(self, value: Value) -> "KeyStates":
        """Return the same states with another last one."""
        return KeyStates([*self.values[:-1], value], self.changes)

    def add(self, before: Value, after: Value, change: Change) -> None:
        """Add a change of the row."""
        if not self.values:
            self.values.append(before)
            self.changes.append(None)
        self.values.append(after)
        self.changes.append(change)


class Moment(NamedTuple):
    """When the target was read, by the clock of the source; microseconds since 1970."""

    begin_us: int
    end_us: int


class Verdict(NamedTuple):
    """What is known of one key after a look.

    `kind` is None if it is equal, or lags: then `age_us` says for how long. `again` says that it
    has to be looked at again. `since` is the first change that the target lacks, or the last one.
    """

    kind: Kind | None = None
    age_us: int = 0
    again: bool = False
    since: Change | None = None
    place: int = 0  # of the target's state among those of the key
    is_lacking: bool = False  # whether the target lacks `since`; else it is the last change


EQUAL: Final = Verdict()
AGAIN: Final = Verdict(again=True)


def judge(
    rows: Sequence[Value], states: KeyStates, read: Moment, lag_us: int, reach_us: int
) -> Verdict:
    """Return what the `states` of a key say about its `rows` in the target.

    The log tells of everything since `reach_us`.
    """
    values, changes = states.values, states.changes
    if len(rows) > 1:
        return Verdict("doubled", since=changes[-1])
    own = rows[0] if rows else None
    if own == values[-1]:
        return EQUAL
    place = next((n for n in range(len(values) - 1, -1, -1) if values[n] == own), None)
    oldest_us = read.begin_us - lag_us
    if place is not None:
        change = changes[place + 1]
        assert change is not None
        if change.committed_us >= oldest_us:
            age = max(0, read.end_us - change.logged_us)
            return Verdict(age_us=age, again=True, since=change, place=place)
        return Verdict(_kind(own, values[-1], "stale"), since=change, is_lacking=True)
    if reach_us > oldest_us or _is_open(states, oldest_us):
        # The log may not tell of the value that the target has.
        return AGAIN
    return Verdict(_kind(own, values[-1], "different"), since=changes[-1])


def _is_open(states: KeyStates, oldest_us: int) -> bool:
    """Return whether the log hides a state of the row since a time, or its last one."""
    if isinstance(states.values[-1], Unknown):
        return True
    following = [*states.changes[1:], None]
    return any(
        isinstance(value, Unknown) and after is not None and after.committed_us >= oldest_us
        for value, after in zip(states.values, following, strict=True)
    )


def _kind(own: Value, last: Value, other: Kind) -> Kind:
    if own is None:
        return "missing"
    return "surplus" if last is None else other


States = Mapping[Digest, KeyStates]


@dataclass(slots=True)
class Origin:
    """What is asked of one row that differs, and what the log says so far."""

    own: Value  # of the target
    since: Change | None
    # Whether `since` is the first change that the target lacks; else it is the last one.
    is_lacking: bool
    next: Change | None = None  # the first change that was seen of the key

    def look(self, values: list[Value], changes: list[Change | None]) -> None:
        """Look at older states of the row."""
        following = [*changes[1:], self.next]
        place = next((n for n in range(len(values) - 1, -1, -1) if values[n] == self.own), None)
        self.since = self.since or changes[-1]
        if place is not None and following[place] is not None:
            self.since, self.is_lacking = following[place], True
        self.next = changes[1]
