"""The library: logs of MySQL and MariaDB, from files and from servers, as Python objects.

::

    with open_binlog("binlog.000001") as log:
        for change in log.row_changes():
            print(change.database, change.table, change.op, change.before, change.after)

`docs/library.md` is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connector.binlog import BinlogReader, RowChange, Transaction, open_binlog, open_binlogs

if TYPE_CHECKING:
    from connector.replication.server_log import open_server

__all__ = [
    "BinlogReader",
    "RowChange",
    "Transaction",
    "open_binlog",
    "open_binlogs",
    "open_server",
]


def __getattr__(name: str) -> Any:
    """Import `open_server` at its first use: readers of files need no client of servers."""
    if name != "open_server":
        reason = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(reason)
    from connector.replication.server_log import open_server  # noqa: PLC0415

    return open_server
