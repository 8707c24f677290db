"""What works beside the stream, in the pipeline's one thread: copies of tables, requests."""

from __future__ import annotations

from typing import Protocol


class Attendant(Protocol):
    """Has its turn between two source transactions; what it writes is committed with the stream.

    Every method may raise TransientError or DefiniteError, which ends the run.
    """

    @property
    def wants_turn(self) -> bool:
        """Whether there is something to write; the stream then stops at its next transaction."""
        ...

    @property
    def patience_seconds(self) -> float:
        """How long the stream may be waited for before the next turn."""
        ...

    def step(self) -> None:
        """Write what is ready; the stream stands between two transactions."""
        ...

    def close(self) -> None:
        """Let go of connections and threads."""
        ...
