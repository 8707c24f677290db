"""A source that is away is waited for, for some time, and then no longer for each table anew."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import RetrySettings
from connector.replication import answer_errors, dump_errors
from tests.foundation.errors.texts import shown
from verification import patience as patience_module
from verification import verify_errors
from verification.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.foundation.errors import ConnectorError

RETRY = RetrySettings(initial_seconds=0.01, max_seconds=0.02)
AWAY = SourceUnavailable(dump_errors.SERVER_CLOSED, server="source db1:3306")


class _Clock:
    """A clock that goes on when the test says so."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def reading(*errors: ConnectorError) -> Callable[[], int]:
    """A reading that fails with each error, and then says how often it has begun."""
    left, begun = list(errors), 0

    def read() -> int:
        nonlocal begun
        begun += 1
        if left:
            raise left.pop(0)
        return begun

    return read


def test_what_was_being_read_is_read_anew_when_the_source_is_there_again() -> None:
    assert Patience(RETRY, 5.0).again(reading(AWAY, AWAY)) == 3


def test_a_source_that_stays_away_is_an_error_that_says_why_and_how_long() -> None:
    patience = Patience(RETRY, 0.1)
    with pytest.raises(SourceUnavailable) as raised:
        patience.again(reading(*[AWAY] * 1000))
    assert str(raised.value) == shown(verify_errors.AWAY, side="the source", seconds=0.1, why=AWAY)
    # Other tables do not wait as long.
    with pytest.raises(SourceUnavailable) as raised:
        patience.again(reading(AWAY))
    assert raised.value.code is verify_errors.AWAY
    # Until the source is there again.
    assert patience.again(reading()) == 1
    assert patience.again(reading(AWAY)) == 2


def test_a_server_that_is_lost_once_more_much_later_is_waited_for_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = _Clock()
    monkeypatch.setattr(patience_module, "time", clock)
    patience, lost = Patience(RETRY, 5.0), reading(*[AWAY] * 5)

    def read() -> int:
        clock.now += 1800.0
        return lost()

    assert patience.again(read) == 6
    # A reading that never ends is given up.
    lost = reading(*[AWAY] * 6)
    with pytest.raises(SourceUnavailable) as raised:
        patience.again(read)
    facts = {"side": "the source", "times": 6, "why": AWAY}
    assert str(raised.value) == shown(verify_errors.OFTEN_LOST, **facts)
    # It was there: other tables are waited for.
    assert patience.again(reading(AWAY)) == 2


@pytest.mark.parametrize(
    "error",
    [
        SourceRefused(dump_errors.LOG_OFF, server="source db1:3306"),
        SourceUnavailable(verify_errors.OTHER_SERVER, pipeline="shop", uuid="a"),
        SourceUnavailable(verify_errors.MOVED, pipeline="shop", source="db2:3306"),
        SourceUnavailable(verify_errors.LOST, server="source db1:3306", lost="0-1-7"),
        SourceUnavailable(answer_errors.QUERY_TOO_LONG, server="db1", number=3024, said="time"),
        SourceUnavailable(answer_errors.LOCKS, server="db1", number=1205, said="lock"),
    ],
)
def test_what_no_attempt_changes_is_raised_at_once(error: ConnectorError) -> None:
    with pytest.raises(type(error)) as raised:
        Patience(RETRY, 60.0).again(reading(error))
    assert raised.value is error


def test_a_wait_in_vain_ends_at_once() -> None:
    moved = SourceUnavailable(verify_errors.MOVED, pipeline="shop", source="db2:3306")

    def require() -> None:
        raise moved

    with pytest.raises(SourceUnavailable) as raised:
        Patience(RETRY, 60.0, require).again(reading(AWAY))
    assert raised.value is moved


def test_the_end_of_the_command_ends_a_wait() -> None:
    patience, began = Patience(RetrySettings(initial_seconds=30.0), 60.0), time.monotonic()

    def read() -> None:
        patience.close()
        raise AWAY

    with pytest.raises(SourceUnavailable):
        patience.again(read)
    assert time.monotonic() - began < 20.0


def test_the_target_of_one_table_delays_no_other_table() -> None:
    source = Patience(RETRY, 60.0)
    one, other = source.for_target(), source.for_target()
    one.absences.add(10.0, 20.0)
    assert (other.absences.seconds, other.absences.ended_at) == (0.0, -math.inf)
    # Without the source, no target can follow.
    source.absences.add(30.0, 35.0)
    assert (one.absences.seconds, one.absences.ended_at) == (15.0, 35.0)
    assert (other.absences.seconds, other.absences.ended_at) == (5.0, 35.0)
