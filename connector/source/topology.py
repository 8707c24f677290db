"""Whether a server receives the changes of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.source.mysql_server import MysqlServer

# MySQL 8.0.22 renamed SHOW SLAVE STATUS, 8.4 dropped the old name.
_REPLICA_STATUS_SINCE = (8, 0, 22)


def replicates(server: MysqlServer) -> bool:
    """Return whether the server may still receive transactions of others.

    It has a channel, also a stopped one. One that takes no writes of its own is taken for a
    replica, too: where replication is run by other means, no channel is shown. Raises SourceRefused
    without the grant REPLICATION CLIENT.
    """
    if server.variable("read_only") not in (None, "OFF"):
        return True
    if server.identity.flavour == "mariadb":
        # SHOW ALL SLAVES STATUS would ask for one more grant.
        return bool(server.global_value("gtid_slave_pos"))
    modern = server.identity.version_number >= _REPLICA_STATUS_SINCE
    return bool(server.query("SHOW REPLICA STATUS" if modern else "SHOW SLAVE STATUS"))
