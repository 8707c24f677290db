"""The reason of a fence: why a change is kept back, and what to do.

The text of an error says how to continue if the error ends the stream. If the change is kept back,
the stream goes on, and the user only has to lift the fence.
"""

from __future__ import annotations

from connector.errors import ConnectorError, UnsupportedChange, quarantine
from connector.errors.words import Words
from connector.quarantine.core.fences import ALL_TABLES


def reason_of(error: ConnectorError, database: str, table: str) -> str:
    """Return the reason that the fence of a table, or of a whole database, states for `error`."""
    if error.code.fence_fix is None:
        return str(error)
    code = quarantine.DATABASE_KEPT_BACK if table == ALL_TABLES else quarantine.KEPT_BACK
    kept_back = UnsupportedChange(code, table=f"{database}.{table}", why=error)
    return str(kept_back.in_words(Words.FENCE))
