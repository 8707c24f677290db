"""How long the server works on one SELECT of a table: it ends the statement itself."""

from typing import Final

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.source.select_session import SelectSession

_MS: Final = 1000

# A SELECT that exceeded its time limit: ER_QUERY_TIMEOUT, ER_STATEMENT_TIMEOUT (MariaDB).
TIMEOUTS: Final = frozenset({3024, 1969})


def time_limits(session: SelectSession, settings: SnapshotSettings) -> tuple[str, str]:
    """Return what limits the time of a SELECT: the text before it, and its hint."""
    seconds = settings.statement_seconds_max
    if session.identity.flavour == "mariadb":
        return f"SET STATEMENT max_statement_time = {seconds:.3f} FOR ", ""
    return "", f"/*+ MAX_EXECUTION_TIME({max(1, int(seconds * _MS))}) */ "
