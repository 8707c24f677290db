"""Spark's data source for logs, under the name that users import: see `docs/library.md`."""

from connector.logs.spark import SCHEMA, MysqlBinlogSource, register

__all__ = ["SCHEMA", "MysqlBinlogSource", "register"]
