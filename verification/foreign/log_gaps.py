"""Changes that the log of the source does not have: then it is no witness for a table.

InnoDB cascades below the log, before MySQL 9.6 and on MariaDB: a table that a foreign key may
change has changes without a trace. A log of statements names no rows, a replica may not log what
it receives, and filters leave databases out, by the default database of a session.

A session that sets sql_log_bin = 0 cannot be seen.
"""

from typing import NamedTuple

from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import binary_log_status, replicates
from connector.stream.source.foreign_keys import logs_cascades, read_keys
from verification.table_definitions import TableName


class LogGaps(NamedTuple):
    """Which tables have changes that the log may lack."""

    setting: str = ""  # because of which the log may lack changes of every table, as NAME=VALUE
    children: frozenset[TableName] = frozenset()  # that foreign keys change

    def hide(self, name: TableName) -> bool:
        """Return whether the log may lack changes of a table."""
        return bool(self.setting) or name in self.children


def read_gaps(server: MysqlServer) -> LogGaps:
    """Ask a server; raises SourceRefused without the grant REPLICATION CLIENT."""
    if logs_cascades(server.query):
        return LogGaps(_setting(server))
    keys = read_keys(server.query)
    # A key of a grandchild is one of its own.
    children = {key.child for parent in keys.parents for key in keys.of_parent(parent)}
    return LogGaps(_setting(server), frozenset(children))


def _setting(server: MysqlServer) -> str:
    """Return the setting that keeps changes out of the log; "" for none."""
    names = ("binlog_format", "log_replica_updates", "log_slave_updates")
    known = server.variables(names)
    form = known.pop("binlog_format", "ROW")
    if form.upper() != "ROW":
        return f"binlog_format={form}"
    # MySQL 8.0.26 renamed it; newer servers have both names.
    off = [name for name in names if known.get(name, "ON").upper() == "OFF"]
    if off and replicates(server):
        return f"{off[0]}=OFF"
    status = binary_log_status(server) or {}
    filters = [name for name in ("Binlog_Do_DB", "Binlog_Ignore_DB") if status.get(name)]
    return f"{filters[0].lower()}={status[filters[0]]}" if filters else ""
