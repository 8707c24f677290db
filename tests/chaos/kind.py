"""A kind of fault: what strikes, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chaos.stage import Stage


def _nothing(stage: Stage) -> None:
    del stage


@dataclass(frozen=True, slots=True)
class Kind:
    """`strike` returns when the fault is over: from then on the recovery is timed.

    `aftermath` puts in order what the recovery has to do without. What is `alone` is never followed
    by another fault before everything has recovered. Of `rarely`, there are few rounds.
    """

    name: str
    weight: int
    strike: Callable[[Stage], None]
    aftermath: Callable[[Stage], None] = _nothing
    alone: bool = False
    rarely: bool = False
