"""The source of one run over tables of other programs, as its threads share it."""

from collections.abc import Collection, Hashable
from functools import cached_property
from typing import Final, Self

from connector.foundation.settings.sections import (
    RetrySettings,
    SnapshotSettings,
    SourceSettings,
)
from connector.stream.snapshot.copy_requests import names_ignore_case
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.watermark import log_end
from connector.stream.source.select_session import SelectSession
from verification.checksums import lender_of
from verification.foreign.noted_moments import NotedMoments
from verification.foreign.row_states import DefinitionMoment
from verification.patience import Patience
from verification.same_server import SameServer
from verification.shared_looks import SharedLook
from verification.shared_session import LentSession, SharedSession
from verification.source_moment import SourceMoment, read_moment

_CLOSED: Final = "the run has ended"
# Older servers, and MariaDB, log when a statement began.
_HAS_COMMIT_TIMES: Final = (8, 0, 1)


class SourceServer:
    """Connections with the server that has answered first; a context manager closes them."""

    def __init__(
        self,
        settings: SourceSettings,
        snapshot: SnapshotSettings,
        patience_seconds: float = 60.0,
        rows_per_second: int = 0,
    ) -> None:
        """Connect. All threads together read at one pace, over `snapshot.connections` connections.

        Raises the errors of connecting.
        """
        self.settings = settings
        self.pace = SourcePace(snapshot, rows_per_second)
        self.patience = Patience(RetrySettings(), patience_seconds)
        self.same = SameServer(self._opened)
        self.is_closed = False
        # What is asked besides rows: no long reading delays it.
        self.session = SharedSession(self.open_session, self.patience)
        self.sessions = lender_of(self.open_session, snapshot.connections)
        self._moment_looks = SharedLook(self._look_at_moment)
        self.moments = NotedMoments(lambda: self._moment_looks.ask(None))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections: what still uses one fails."""
        self.is_closed = True
        self.patience.close()
        self.sessions.close()
        self.session.close()

    def open_session(self) -> SelectSession:
        """Return a session of its own; raises as `SameServer.open_session`."""
        return self.same.open_session()

    def reading_session(self) -> LentSession:
        """Return a session for one thread, which borrows a connection for each reading."""
        return LentSession(self.session, self.sessions, self.patience)

    @cached_property
    def ignores_case(self) -> bool:
        """Whether the server takes names of tables that differ in case for the same."""
        return names_ignore_case(self.session)

    def time_us(self) -> int:
        """Return the time of the server's clock, in microseconds since 1970."""
        (row,) = self.session.query("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) AS t")
        return int(row["t"] or 0)

    @cached_property
    def logs_commit_times(self) -> bool:
        """Whether the log tells when transactions were committed."""
        identity = self.session.identity
        return identity.flavour == "mysql" and identity.version_number >= _HAS_COMMIT_TIMES

    def definition_moment(self) -> DefinitionMoment:
        """Return the moment now, before the definition of a table is read."""
        end = None if self.logs_commit_times else log_end(self.session)
        return DefinitionMoment(self.time_us(), end)

    def sums(self, sql: str, kind: Hashable) -> list[dict[str, str | None]]:
        """Return the rows of a statement, which counts in `found` those that it reads.

        It is read at the pace of all reads, again after a lost connection; `kind` as for
        `SourcePace.read`. Raises as `Patience.again`.
        """

        def read() -> list[dict[str, str | None]]:
            with (
                self.sessions.lent() as session,
                self.pace.read(session, self.patience.closing, kind) as turn,
            ):
                rows = session.query(sql)
                turn.rows = sum(int(row["found"] or 0) for row in rows)
            return rows

        return self.patience.again(read)

    def require_open(self) -> None:
        """Raise RuntimeError after `close`."""
        if self.is_closed:
            raise RuntimeError(_CLOSED)

    def _opened(self) -> SelectSession:
        self.require_open()
        return SelectSession(self.settings, self.pace.settings.statement_seconds_max)

    def _look_at_moment(self, questions: Collection[None]) -> dict[None, SourceMoment]:
        return dict.fromkeys(questions, self.patience.again(self._read_moment))

    def _read_moment(self) -> SourceMoment:
        with self.sessions.lent() as session:
            return read_moment(session)
