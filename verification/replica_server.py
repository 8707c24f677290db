"""The server of a replica, as a reader sees it, and what the replica says of itself there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.codec.sql_text import sql_text
from connector.errors import MirrorError, SourceRefused, SourceUnavailable, verification
from connector.source.server.select_session import SelectSession
from stream_jobs.replica.marker import REPLICA, TABLES, TableMark
from stream_jobs.replica.target import of_target, settings_of

if TYPE_CHECKING:
    from stream_jobs.settings import Settings as JobSettings

# ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE.
_MISSING: Final = frozenset({1049, 1146})
_NOT_LOADED: Final = "it was not loaded yet"


class ReplicaServer:
    """The replica of one mirror."""

    def __init__(self, job: JobSettings) -> None:
        """Read the replica that the section [replica] of `job` names.

        Raises ConfigError for wrong settings.
        """
        self._login = settings_of(job.replica)
        self._replica = job.name
        self._mirror = job.mirror.path.rstrip("/")
        # The database of a table there.
        self.database = job.replica.database
        self.name = f"target {self._login.host}:{self._login.port}"

    def open_session(self) -> SelectSession:
        """Return a session. Raises its errors, which name the target."""
        try:
            session = SelectSession(self._login)
        except (SourceUnavailable, SourceRefused) as error:
            raise of_target(error, self.name) from error
        session.name = self.name
        return session

    def mark(self, session: SelectSession, table: str) -> TableMark:
        """Return which version of the mirror of `table` is there.

        Raises MirrorError if the replica does not have the table, or is not there.
        """
        row = self._row(session, table)
        mark = TableMark.read(row)
        if mark is None:
            why = row["left_out"] or _NOT_LOADED
            raise MirrorError(verification.NOT_AT_REPLICA, table=table, why=why)
        return mark

    def why_late(self, session: SelectSession, table: str, seconds: float) -> MirrorError:
        """Return the error for a replica that has not applied changes within `seconds`."""
        left_out = self._row(session, table)["left_out"]
        if left_out:
            return MirrorError(verification.NOT_AT_REPLICA, table=table, why=left_out)
        return MirrorError(verification.REPLICA_LAGS, table=table, seconds=seconds)

    def _row(self, session: SelectSession, table: str) -> dict[str, str | None]:
        sql = (
            "SELECT t.path, t.generation, t.version, t.seq, t.columns_json, t.left_out "  # noqa: S608 - quoted names
            f"FROM {REPLICA} r LEFT JOIN {TABLES} t "
            f"ON t.replica = r.name AND t.name = {sql_text(table)} "
            f"WHERE r.name = {sql_text(self._replica)} AND r.mirror = {sql_text(self._mirror)}"
        )
        try:
            rows = session.query(sql)
        except SourceRefused as error:
            if error.number not in _MISSING:
                raise
            rows = []
        if not rows:
            facts = {"name": self._replica, "path": self._mirror}
            raise MirrorError(verification.NO_REPLICA, server=self.name, **facts)
        return rows[0]
