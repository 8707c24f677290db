"""Which errors concern one table alone: its table is set aside, and all others go on.

The scope of its code says that. Every other error ends the job: Kafka or the storage does not
answer, the schema topic cannot be read, another process took over. A supervisor starts the job
again, and it may succeed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import mirror
from connector.errors.code import Scope

if TYPE_CHECKING:
    from connector.errors import MirrorError

# The columns do not fit rows that exist; a `t` record takes these away.
_ROWS_IN_THE_WAY: Final = (
    mirror.KEY_CHANGED,
    mirror.KEY_LOST,
    mirror.KEY_IN_THE_WAY,
    mirror.COLUMN_RETYPED,
    mirror.ZERO_DEFAULT,
    mirror.UNKNOWN_DEFAULT,
)


def concerns_one_table(error: MirrorError) -> bool:
    """Return whether the other tables can go on after `error`."""
    return error.code.scope is Scope.TABLE


def concerns_existing_rows(error: MirrorError) -> bool:
    """Return whether the error is over once the rows of the table are gone."""
    return error.code in _ROWS_IN_THE_WAY
