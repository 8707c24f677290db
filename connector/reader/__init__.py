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
    from connector.binlog import BinlogReader, RowChange, Transaction, open_binlog, open_binlogs
    from connector.reader.server_log import open_server

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
    "BinlogReader": "connector.binlog",
    "RowChange": "connector.binlog",
    "Transaction": "connector.binlog",
    "open_binlog": "connector.binlog",
    "open_binlogs": "connector.binlog",
    "open_server": "connector.reader.server_log",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        reason = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(reason)
    return getattr(import_module(_MODULES[name]), name)
