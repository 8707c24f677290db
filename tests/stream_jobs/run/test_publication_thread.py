"""When tables are published to Iceberg."""

from __future__ import annotations

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
    with publishing(well, EVERY, lambda: None):
        pass
    with pytest.raises(KeyError), publishing(failed, EVERY, lambda: None):
        raise KeyError
    assert (well.made, failed.made) == (["finish"], ["stop"])
