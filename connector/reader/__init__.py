"""The library: logs of MySQL and MariaDB, from files and from servers, as Python objects.

::

    with open_binlog("binlog.000001") as log:
        for change in log.row_changes():
            print(change.database, change.table, change.op, change.before, change.after)

`docs/library.md` is the guide.
"""

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
