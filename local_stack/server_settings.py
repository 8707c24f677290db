"""What a server must be told to be a source: the settings, as its own option files spell them.

The servers of the local stack start with these, `configs/mysql/` and `docker-compose.yml` repeat
them, and a test keeps the three together. Which server has which default: see `configs/mysql/`.

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
        # Off by default in 5.7; 8.0 and later log without being told.
        "log_bin": "binlog",
        "server_id": "1",
        "binlog_format": "ROW",
        # Every column in both images: a change then stands alone.
        "binlog_row_image": "FULL",
        # Names, signs, charsets and labels travel with the rows; MINIMAL is the default.
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
        # GTIDs are always on; strict refuses a sequence number out of order.
        "gtid_strict_mode": "ON",
    }
)


def mysql_source_settings(version: tuple[int, int, int]) -> dict[str, str]:
    """Return the settings that a MySQL of `version` knows."""
    settings = dict(MYSQL_SOURCE_SETTINGS)
    if version < (8, 0, 1):
        # Row events of 5.7 carry types alone; names come from information_schema.
        del settings["binlog_row_metadata"]
    return settings
