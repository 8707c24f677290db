"""Sessions that stay on one server, and are opened again when they are lost.

An address may lead to another server later: a proxy, a name, a failover. Rows of one server prove
nothing about those of another one, nor about those of the same one after it was restored.
"""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from connector.foundation.errors import SourceUnavailable
from connector.stream.source.select_session import SelectSession
from verification import verify_errors
from verification.patience import Patience
from verification.source_moment import lost_part, short, transactions_of

Found = TypeVar("Found")


class SameServer:
    """Opens sessions on the server that has answered first; several threads may use it."""

    def __init__(self, opened: Callable[[], SelectSession]) -> None:
        """Open sessions as `opened` does."""
        self._opened = opened
        self._turn = Lock()
        self.uuid = ""  # of the server; "" before the first session
        # A set of GTIDs that the server had when a session was opened.
        self.transactions = ""

    def open_session(self) -> SelectSession:
        """Return a session. Raises the errors of opening one.

        Raises SourceUnavailable, too, if another server answers, or if the server lacks
        transactions that it had before.
        """
        session = self._opened()
        try:
            self._require_same(session)
        except BaseException:
            session.close()
            raise
        return session

    def require_transactions(self, transactions: str) -> None:
        """Raise SourceUnavailable if the server lacks some of these, which it had before.

        Raises the errors of opening a session, too.
        """
        self.transactions = transactions
        self.open_session().close()

    def require_uuid(self, server: str, uuid: str) -> None:
        """Raise SourceUnavailable if `server`, which has this UUID, is another server."""
        if self.uuid not in ("", uuid):
            raise SourceUnavailable(verify_errors.OTHER_ANSWERS, server=server)

    def _require_same(self, session: SelectSession) -> None:
        with self._turn:
            self.require_uuid(session.name, session.identity.server_uuid)
            if lost := lost_part(session, self.transactions):
                server, lost = session.name, short(lost)
                raise SourceUnavailable(verify_errors.LOST, server=server, lost=lost)
            self.uuid = session.identity.server_uuid
            self.transactions = transactions_of(session)


class LastingSession:
    """A session that is opened again when it is lost, but not in the middle of a reading."""

    def __init__(self, opened: Callable[[], SelectSession], patience: Patience) -> None:
        """Connect by `opened`, which says what it raises."""
        self._open = opened
        self._patience = patience
        self._session: SelectSession | None = None

    def opened(self) -> SelectSession:
        """Return the session, or another one if it was lost; raises as opening one."""
        if self._session is None or self._session.is_closed:
            self._session = self._open()
        return self._session

    def again(self, read: Callable[[SelectSession], Found]) -> Found:
        """Return what `read` returns; after a lost connection, let it begin on a new one.

        So what one snapshot has to show is one reading. Raises as `Patience.again`.
        """
        return self._patience.again(lambda: read(self.opened()))

    def close(self) -> None:
        """Close the session, if there is one."""
        if self._session is not None:
            self._session.close()
