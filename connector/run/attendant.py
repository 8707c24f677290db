"""The base class of attendants: parts of the pipeline that write between two transactions."""

from __future__ import annotations

from typing import Protocol


class Attendant(Protocol):
    """Has its turn between two source transactions; its records are committed with the stream's.

    Every method may raise TransientError or DefiniteError, which ends the run.
    """

    @property
    def wants_turn(self) -> bool:
        """Whether there is something to write; if so, the stream stops after its transaction."""
        ...

    @property
    def patience_seconds(self) -> float:
        """How long the stream may wait for the source before the attendant's next turn."""
        ...

    def step(self) -> None:
        """Write what is ready; the stream is between two transactions."""
        ...

    def close(self) -> None:
        """Close connections and threads."""
        ...
