"""The parser of binary logs: bytes become events, transactions, changed rows and Arrow batches.

::

    with open_binlog("binlog.000001") as log:
        for change in log.row_changes():
            print(change.database, change.table, change.op, change.before, change.after)

Only `files` does I/O; everything else cannot tell a file from a server. With
`connector.foundation`, this package is a library of its own (`make library-wheel`).

The errors have their public names in `connector.errors`; `docs/library.md` is the guide.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from connector.binlog.files.binlog_reader import BinlogReader, open_binlog, open_binlogs
    from connector.binlog.transactions.transaction import RowChange, Transaction

__all__ = ["BinlogReader", "RowChange", "Transaction", "open_binlog", "open_binlogs"]

# Imported at their first use: most of the connector needs parts of this package, and not these.
_MODULES = {
    "BinlogReader": "connector.binlog.files.binlog_reader",
    "RowChange": "connector.binlog.transactions.transaction",
    "Transaction": "connector.binlog.transactions.transaction",
    "open_binlog": "connector.binlog.files.binlog_reader",
    "open_binlogs": "connector.binlog.files.binlog_reader",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        reason = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(reason)
    return getattr(import_module(_MODULES[name]), name)
