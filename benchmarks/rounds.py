"""The order in which programs that write to one broker are measured: by turns, after a warm-up.

A new broker is 10 to 20 % slower for its first minute, because its Java virtual machine compiles
itself meanwhile, and each program asks other work of it (transactions, large requests, small ones).
So each program runs once before the first run that counts. In the rounds that count, each program
has a turn, so that whatever the machine does besides hits all alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Round:
    """A turn of each program."""

    number: int  # 0 is the warm-up

    @property
    def counts(self) -> bool:
        """Whether it is measured; the warm-up is not."""
        return self.number > 0

    def __str__(self) -> str:
        return f"run {self.number}" if self.counts else "warm-up"


def rounds(runs: int) -> Iterator[Round]:
    """Yield the warm-up, and then `runs` rounds that count."""
    return map(Round, range(runs + 1))
