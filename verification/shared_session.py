"""The session on which all threads ask what the source says of itself and of its tables."""

from collections.abc import Callable
from threading import RLock
from typing import TypeVar

from connector.stream.source.select_session import SelectSession
from verification.patience import Patience

Found = TypeVar("Found")


class SharedSession(SelectSession):
    """A session on which threads ask one after the other; a lost connection is made again.

    So each statement stands for itself: no transaction and no setting lasts until the next one.
    """

    def __init__(self, opened: Callable[[], SelectSession], patience: Patience) -> None:
        """Connect by `opened`, which raises RuntimeError once nobody may ask any more."""
        self._turn = RLock()
        self._opened = opened
        self._patience = patience
        self._connect()

    def query(self, sql: str) -> list[dict[str, str | None]]:
        """Run a statement; raises as `Patience.again`."""
        return self.again(lambda: super(SharedSession, self).query(sql))

    def again(self, read: Callable[[], Found]) -> Found:
        """Return what `read` returns, which takes the answer of one statement of this session.

        Raises as `Patience.again`.
        """

        def attempt() -> Found:
            if self.is_closed:
                self._connect()
            return read()

        with self._turn:
            return self._patience.again(attempt)

    def _connect(self) -> None:
        """Go on with the connection of a new session."""
        self.__dict__.update(vars(self._opened()))
