"""The log of a running server, as the tests of the decoder have it."""

from tests.binlog.conftest import decode_file, mariadb_log, mysql_log, recorded, source_log

__all__ = ["decode_file", "mariadb_log", "mysql_log", "recorded", "source_log"]
