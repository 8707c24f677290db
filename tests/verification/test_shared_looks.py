"""One look answers all questions that wait for it; connections are lent to one thread at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from verification.shared_looks import Lender, SharedLook

if TYPE_CHECKING:
    from collections.abc import Collection

_SECONDS = 20.0


class Looks:
    """Looks that wait until the test lets them end."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.questions: list[set[int]] = []
        self.error: Exception | None = None

    def look(self, questions: Collection[int]) -> dict[int, str]:
        self.questions.append(set(questions))
        number = len(self.questions)
        self.begun.release()
        assert self.may_end.acquire(timeout=_SECONDS)
        if self.error is not None:
            raise self.error
        return dict.fromkeys(questions, f"look {number}")


def wait_for_questions(shared: SharedLook[int, str], count: int) -> None:
    # What is asked while a look goes on is not seen from outside.
    while len(shared._next.questions) < count:
        threading.Event().wait(0.001)


def test_questions_during_a_look_are_answered_by_one_later_look() -> None:
    looks = Looks()
    shared = SharedLook(looks.look)
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(shared.ask, 1)
        assert looks.begun.acquire(timeout=_SECONDS)
        others = [threads.submit(shared.ask, number) for number in (1, 2, 3)]
        wait_for_questions(shared, 3)
        looks.may_end.release(2)
        assert first.result(_SECONDS) == "look 1"
        # The first look began before these questions: its answer may be too old.
        assert [other.result(_SECONDS) for other in others] == ["look 2"] * 3
    assert looks.questions == [{1}, {1, 2, 3}]


def test_all_that_wait_get_the_error_of_their_look_and_the_next_look_is_another_one() -> None:
    looks = Looks()
    looks.error = OSError("away")
    shared = SharedLook(looks.look)
    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(shared.ask, 0)]
        assert looks.begun.acquire(timeout=_SECONDS)
        asked += [threads.submit(shared.ask, number) for number in (1, 2)]
        wait_for_questions(shared, 2)
        looks.may_end.release(2)
        for each in asked:
            with pytest.raises(OSError, match="away"):
                each.result(_SECONDS)
    looks.error = None
    looks.may_end.release()
    assert shared.ask(7) == "look 3"


class Connection:
    """What is lent."""

    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


def lender_of(most: int) -> tuple[Lender[Connection], list[Connection]]:
    opened: list[Connection] = []

    def open_one() -> Connection:
        opened.append(Connection())
        return opened[-1]

    own = Lender(open_one, Connection.close, most, lambda connection: not connection.is_closed)
    return own, opened


def test_a_connection_is_lent_again_unless_it_broke_or_its_user_failed() -> None:
    lender, opened = lender_of(1)
    for _ in range(2):
        with lender.lent():
            pass
    assert len(opened) == 1
    with lender.lent() as broken:
        broken.close()
    with pytest.raises(ZeroDivisionError), lender.lent() as second:
        raise ZeroDivisionError
    assert second.is_closed
    with lender.lent() as third:
        assert opened == [broken, second, third]


def test_no_more_connections_are_lent_at_a_time_than_allowed() -> None:
    lender, opened = lender_of(2)
    most, now = 0, 0
    turn = threading.Lock()

    def use() -> None:
        nonlocal most, now
        with lender.lent():
            with turn:
                now += 1
                most = max(most, now)
            threading.Event().wait(0.002)
            with turn:
                now -= 1

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(use) for _ in range(40)]:
            done.result(_SECONDS)
    assert (most, len(opened)) == (2, 2)


def test_after_the_end_everything_is_closed_and_nothing_is_lent() -> None:
    lender, opened = lender_of(2)
    with lender.lent() as used, lender.lent():
        lender.close()
        assert used.is_closed
    assert [connection.is_closed for connection in opened] == [True, True]
    with pytest.raises(RuntimeError), lender.lent():
        pass
