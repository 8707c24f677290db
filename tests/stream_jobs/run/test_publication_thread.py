"""When tables are published to Iceberg."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from stream_jobs.run.iceberg_publication import IcebergPublication
from stream_jobs.run.publication_thread import pause_seconds, publishing

EVERY = 10.0


def turns(took: float) -> list[tuple[float, float]]:
    """Return when turns begin and end."""
    found, at = [], EVERY
    for _ in range(50):
        found.append((at, at + took))
        at += took + pause_seconds(EVERY, took)
    return found


@pytest.mark.parametrize("took", [0.0, 0.2, 0.5, 1.0])
def test_a_version_that_has_just_missed_a_turn_is_published_after_the_interval(took: float) -> None:
    assert all(end - missed <= EVERY + 1e-9 for (missed, _), (_, end) in pairwise(turns(took)))


@pytest.mark.parametrize("took", [0.0, 0.5, 3.0, 8.9, 25.0])
def test_turns_begin_at_moments_that_their_lengths_do_not_move(took: float) -> None:
    period = max(EVERY - took, 0.9 * EVERY)
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(turns(took))]
    # A turn that is longer leaves out the moments that it has passed.
    assert gaps == pytest.approx([period * (took // period + 1)] * len(gaps))


class Calls(IcebergPublication):
    """A publication that notes how it ends."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def finish(self) -> None:
        self.made.append("finish")

    def stop(self) -> None:
        self.made.append("stop")


def test_a_job_that_ends_with_an_error_publishes_nothing_more() -> None:
    well, failed = Calls(), Calls()
    errors: list[Exception] = []
    with publishing(well, EVERY, lambda: None, errors.append):
        pass
    with pytest.raises(KeyError), publishing(failed, EVERY, lambda: None, errors.append):
        raise KeyError
    assert (well.made, failed.made) == (["finish"], ["stop"])
    assert not errors


class Failing(Calls):
    """A publication that fails in some of its turns."""

    def __init__(self, failures: set[int]) -> None:
        super().__init__()
        self.failures = failures
        self.turns = 0
        self.is_over = threading.Event()

    def publish(self) -> None:
        self.turns += 1
        if self.turns > max(self.failures) + 2:
            self.is_over.set()
        if self.turns in self.failures:
            message = "can't start new thread"
            raise RuntimeError(message)


def test_a_turn_that_fails_ends_no_other_one_and_is_told_once() -> None:
    publication, errors = Failing({2, 3, 5}), list[Exception]()
    with publishing(publication, 0.001, lambda: None, errors.append):
        assert publication.is_over.wait(10)
    assert [str(error) for error in errors] == ["can't start new thread"] * 2
    assert publication.made == ["finish"]
