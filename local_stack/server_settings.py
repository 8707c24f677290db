"""The settings that a server needs as a source, as its option files spell them.

The servers of the local stack start with these. `configs/mysql/` and `docker-compose.yml` repeat
them, and a test compares the three. `configs/mysql/` says which server has which default.

https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html
https://mariadb.com/docs/server/ha-and-performance/standard-replication/replication-and-binary-log-system-variables
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MYSQL_SOURCE_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        # Off by default in 5.7; on by default since 8.0.
        "log_bin": "binlog",
        "server_id": "1",
        "binlog_format": "ROW",
        # Every column in both images, so that a change can be understood alone.
        "binlog_row_image": "FULL",
        # Names, signs, character sets and labels in the log; MINIMAL is the default.
        "binlog_row_metadata": "FULL",
        "gtid_mode": "ON",
        "enforce_gtid_consistency": "ON",
    }
)

MARIADB_SOURCE_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "log_bin": "binlog",
        "server_id": "1",
        # MIXED is the default.
        "binlog_format": "ROW",
        "binlog_row_image": "FULL",
        # NO_LOG is the default.
        "binlog_row_metadata": "FULL",
        # GTIDs are always on; strict mode refuses a sequence number that is out of order.
        "gtid_strict_mode": "ON",
    }
)


def mysql_source_settings(version: tuple[int, int, int]) -> dict[str, str]:
    """Return the settings of a source that MySQL `version` supports."""
    settings = dict(MYSQL_SOURCE_SETTINGS)
    if version < (8, 0, 1):
        # Row events of 5.7 have only types; names come from information_schema.
        del settings["binlog_row_metadata"]
    return settings
