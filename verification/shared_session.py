"""Sessions without a connection of their own: one for all threads, and one that borrows."""

from collections.abc import Callable
from threading import RLock
from typing import TypeVar

from connector.stream.source.select_session import SelectSession
from verification.patience import Patience
from verification.shared_looks import Lender

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


class LentSession(SelectSession):
    """A session of one thread that borrows a connection for each reading.

    So each reading stands for itself, and others may read in between.
    """

    def __init__(
        self, known: SelectSession, sessions: Lender[SelectSession], patience: Patience
    ) -> None:
        """Borrow from `sessions`, which are connected with the same server as `known`."""
        self.__dict__.update(vars(known))
        self._sessions = sessions
        self._patience = patience
        self._is_reading = False

    def query(self, sql: str) -> list[dict[str, str | None]]:
        """Run a statement; raises as `Patience.again`."""
        return self.again(lambda: super(LentSession, self).query(sql))

    def again(self, read: Callable[[], Found]) -> Found:
        """Return what `read` returns, whose statements of this session use one connection.

        A lost connection is made again, and `read` begins anew. Raises as `Patience.again`.
        """

        def attempt() -> Found:
            with self._sessions.lent() as session:
                self.__dict__.update(vars(session))
                self._is_reading = True
                try:
                    return read()
                finally:
                    self._is_reading = False

        return read() if self._is_reading else self._patience.again(attempt)

    def close(self) -> None:
        """Close the connection of a reading that failed; others are not its own."""
        if self._is_reading:
            super().close()
