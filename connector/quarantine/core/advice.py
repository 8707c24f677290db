"""Why a change is kept back, and what to do about its fence.

The text of an error says how to go on if it ends the stream. If the change is kept back, the stream
goes on, and what is left to do is to lift the fence.
"""

from __future__ import annotations

from connector.errors import ConnectorError, UnsupportedChange, quarantine
from connector.errors.words import Words
from connector.quarantine.core.fences import ALL_TABLES


def reason_of(error: ConnectorError, database: str, table: str) -> str:
    """Return what the fence of a table, or of all tables of a database, says of `error`."""
    if error.code.fence_fix is None:
        return str(error)
    code = quarantine.DATABASE_KEPT_BACK if table == ALL_TABLES else quarantine.KEPT_BACK
    kept_back = UnsupportedChange(code, table=f"{database}.{table}", why=error)
    return str(kept_back.in_words(Words.FENCE))
