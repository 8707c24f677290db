"""The library: logs of MySQL and MariaDB, from files and from servers, as Python objects.

::

    with open_binlog("binlog.000001") as log:
        for change in log.row_changes():
            print(change.database, change.table, change.op, change.before, change.after)

`docs/library.md` is the guide.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from connector.reader.binlog_reader import BinlogReader
    from connector.reader.library import open_binlog, open_binlogs, open_server
    from connector.reader.transactions.row_change import RowChange
    from connector.reader.transactions.transaction import Transaction

__all__ = [
    "BinlogReader",
    "RowChange",
    "Transaction",
    "open_binlog",
    "open_binlogs",
    "open_server",
]

# Commands that read logs need parts of this package, and not these names: they are imported at
# their first use.
_MODULES = {
    "BinlogReader": "binlog_reader",
    "RowChange": "transactions.row_change",
    "Transaction": "transactions.transaction",
    "open_binlog": "library",
    "open_binlogs": "library",
    "open_server": "library",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        reason = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(reason)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
