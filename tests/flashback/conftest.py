"""The log of a running server, as the tests of the decoder have it."""

from tests.binlog.conftest import mariadb_log, mysql_log, source_log

__all__ = ["mariadb_log", "mysql_log", "source_log"]
