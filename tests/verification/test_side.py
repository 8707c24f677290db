"""How long the comparison waits for a side that is late."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from stream_jobs.errors import MirrorError
from verification import verify_errors
from verification.side import Side, wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.delta.snapshot import Snapshot


class LateSide:
    """Has at each look the next of some offsets, and then the last one."""

    def __init__(self, offsets: Sequence[int]) -> None:
        self._left = list(offsets)
        self.looks = 0

    def refresh(self) -> Snapshot:
        self.looks += 1
        if len(self._left) > 1:
            del self._left[0]
        return cast("Snapshot", self)

    @property
    def offsets(self) -> dict[int, int]:
        return {0: self._left[0]}


def late() -> MirrorError:
    return MirrorError(verify_errors.MIRROR_LAGS, table="a.b", seconds=3.0)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look takes a second."""
    now = [0.0]
    monkeypatch.setattr("verification.side.time.monotonic", lambda: now[0])
    monkeypatch.setattr("verification.side.time.sleep", lambda _: now.__setitem__(0, now[0] + 1))


def wait(side: LateSide) -> object:
    return wait_for(cast("Side", side), {0: 100}, lambda _: True, 3.0, late)


def test_a_side_that_moves_on_is_waited_for() -> None:
    side = LateSide([0, 1, 1, 1, 30, 31, 31, 99, 99, 99, 100])
    assert wait(side) is side
    assert side.looks == 10


@pytest.mark.parametrize("offsets", [[0], [0, 5, 6, 6], [0, 9, 1, 2, 3, 4, 5, 6, 7]])
def test_a_side_that_stands_still_or_goes_back_is_late(offsets: list[int]) -> None:
    side = LateSide(offsets)
    with pytest.raises(MirrorError, match="has applied nothing for"):
        wait(side)
    assert side.looks < 10
