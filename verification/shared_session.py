"""The session on which all threads ask what the source says of itself and of its tables."""

from collections.abc import Callable
from threading import RLock

from connector.stream.source.select_session import SelectSession
from verification.patience import Patience


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
        with self._turn:
            return self._patience.again(lambda: self._asked(sql))

    def _asked(self, sql: str) -> list[dict[str, str | None]]:
        if self.is_closed:
            self._connect()
        return super().query(sql)

    def _connect(self) -> None:
        """Go on with the connection of a new session."""
        self.__dict__.update(vars(self._opened()))
