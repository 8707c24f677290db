"""The version of a server decides facts that its logs do not state.

::

    5.6.1 and newer, MariaDB 5.3.0 and newer    FORMAT_DESCRIPTION ends with the checksum algorithm
    5.1 and 5.2 with `-a_drop5`, `-a_drop6`     six numbers of event types mean other types

The development releases in the second line had table maps and rows where later servers have XID and
LOAD DATA, in format v4 as well.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Format__description__event.html
"""

from __future__ import annotations

import re

from connector.binlog.framing.event_types import EventType

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")

_MYSQL_CHECKSUM_VERSION = (5, 6, 1)
_MARIADB_CHECKSUM_VERSION = (5, 3, 0)

# The suffixes that mysql-server itself looks for.
_PRE_GA_VERSION = re.compile(r"5\.(1\.[1-5]-a_drop5|1\.4-a_drop6|2\.[0-2]-a_drop6)")
_PRE_GA_TYPES: dict[int, int] = {
    16: EventType.TABLE_MAP_EVENT.value,
    17: EventType.PRE_GA_WRITE_ROWS_EVENT.value,
    18: EventType.PRE_GA_UPDATE_ROWS_EVENT.value,
    19: EventType.PRE_GA_DELETE_ROWS_EVENT.value,
    20: EventType.XID_EVENT.value,
    21: EventType.BEGIN_LOAD_QUERY_EVENT.value,
    22: EventType.EXECUTE_LOAD_QUERY_EVENT.value,
}


def has_checksum_algorithm(server_version: str) -> bool:
    """Return whether the server's format description ends with a checksum algorithm."""
    match = _VERSION.match(server_version)
    if match is None:
        return False
    version = (int(match[1]), int(match[2]), int(match[3]))
    if "mariadb" in server_version.lower():
        return version >= _MARIADB_CHECKSUM_VERSION
    return version >= _MYSQL_CHECKSUM_VERSION


def renumbered_types(server_version: str) -> dict[int, int]:
    """Return the map from a server's numbers of event types to those that all others use."""
    return _PRE_GA_TYPES if _PRE_GA_VERSION.match(server_version) else {}
