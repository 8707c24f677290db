"""The servers that a server replicates from, and the transactions that it has received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.gtid import GtidSet

if TYPE_CHECKING:
    from connector.source.server.mysql_server import MysqlServer

# MySQL 8.0.22 renamed SHOW SLAVE STATUS and its columns, 8.4 dropped the old name.
_REPLICA_STATUS_SINCE = (8, 0, 22)


@dataclass(frozen=True, slots=True)
class Channel:
    """One source of a MySQL replica."""

    source_uuid: str  # "" before the first connection
    # Since its relay logs were begun, also those that were committed since.
    received: GtidSet
    is_done: bool  # everything received is committed, or was


def replicates(server: MysqlServer) -> bool:
    """Return whether the server may still receive transactions of others.

    True if it has a channel, also a stopped one, or if it is read-only: replication that is run by
    other means shows no channel. Raises SourceRefused without the grant REPLICATION CLIENT.
    """
    if server.variable("read_only") not in (None, "OFF"):
        return True
    if server.identity.flavour == "mariadb":
        # SHOW ALL SLAVES STATUS would need one more grant.
        return bool(server.global_value("gtid_slave_pos"))
    return bool(channels(server))


def channels(server: MysqlServer) -> list[Channel]:
    """Return the channels of a MySQL server, also those that are stopped.

    Raises SourceRefused without the grant REPLICATION CLIENT.
    """
    modern = server.identity.version_number >= _REPLICA_STATUS_SINCE
    kind, name = ("REPLICA", "Source") if modern else ("SLAVE", "Master")
    found = []
    for row in server.query(f"SHOW {kind} STATUS"):
        received = row[f"{name}_Log_File"], row[f"Read_{name}_Log_Pos"]
        committed = row[f"Relay_{name}_Log_File"], row[f"Exec_{name}_Log_Pos"]
        found.append(
            Channel(
                source_uuid=str(row[f"{name}_UUID"] or ""),
                received=GtidSet.parse(str(row["Retrieved_Gtid_Set"] or "")),
                # Without a file, as in group replication, the positions say nothing.
                is_done=bool(received[0]) and received == committed,
            )
        )
    return found
