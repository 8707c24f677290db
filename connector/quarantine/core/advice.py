"""Why a change is kept back, and what to do about its fence.

The text of an error says how to go on where it ends the stream. Where the change is kept back, the
stream goes on, and what is left to do is to lift the fence.
"""

from __future__ import annotations

from connector.errors import ConnectorError, UnsupportedChange
from connector.quarantine.core.fences import ALL_TABLES


def reason_of(error: ConnectorError, database: str, table: str) -> str:
    """Return what the fence of a table, or of all tables of a database, says of `error`."""
    if not isinstance(error, UnsupportedChange) or not error.kept_back:
        return str(error)
    name = f"{database}.{table}"
    copied = (
        "the tables of the database anew, and lifts the fence for each"
        if table == ALL_TABLES
        else "the table anew and lifts the fence"
    )
    return (
        f"{error.kept_back}; `binlog-connector quarantine show CONFIG {name}` shows what is kept "
        f"back, `binlog-connector snapshot CONFIG {name}` copies {copied}"
    )
