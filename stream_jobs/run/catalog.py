"""Registers mirrors in the catalog of the Spark session: `SELECT … FROM shop.orders`.

A table of the catalog is a name and the place of the mirror. All else is in the mirror's own log,
so nothing has to be told the catalog when columns change. It is registered after its first commit
of this process; if that fails, again after the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # it has no types
from pyspark.errors import PySparkException

from connector.foundation.errors.message import Message
from stream_jobs.errors import choice_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Catalog:
    """The catalog of one session."""

    def __init__(self, session: SparkSession, base: str) -> None:
        """Register mirrors below `base` with `session`, whose settings say which catalog that is.

        `base` is a path, or a URI.
        """
        self._session = session
        self._base = base.rstrip("/") if urlsplit(base).scheme else str(Path(base).absolute())
        self._registered: set[tuple[str, str]] = set()

    def register(self, mirrors: Mapping[tuple[str, str], str]) -> dict[str, Message]:
        """Register mirrors: by database and name, the path below the base.

        Return by `database.name` why one could not be registered. The mirrors themselves go on.
        """
        problems = {}
        for place, path in mirrors.items():
            if place in self._registered:
                continue
            name, location = ".".join(place), f"{self._base}/{path}"
            try:
                created = self._create(place, location)
            except (PySparkException, Py4JError) as error:
                reason = str(error).partition("\n")[0]
                problems[name] = Message(
                    choice_errors.NOT_REGISTERED, {"name": name, "said": reason}
                )
                continue
            if _is_same(created, location):
                self._registered.add(place)
            else:
                facts = {"name": name, "other": created, "location": location}
                problems[name] = Message(choice_errors.REGISTERED_ELSEWHERE, facts)
        return problems

    def _create(self, place: tuple[str, str], location: str) -> str:
        """Create the table if there is none; return its location."""
        database, table = (f"`{name.replace('`', '``')}`" for name in place)
        sql = self._session.sql
        sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        text = location.replace("\\", "\\\\").replace("'", "\\'")
        sql(f"CREATE TABLE IF NOT EXISTS {database}.{table} USING delta LOCATION '{text}'")
        rows = sql(f"DESCRIBE TABLE EXTENDED {database}.{table}").collect()
        # The last one: a column may have this name.
        return str([row["data_type"] for row in rows if row["col_name"] == "Location"][-1])


def _is_same(one: str, other: str) -> bool:
    """Return whether two locations are the same: Spark adds `file:`, and S3 has two names."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.netloc, first.path.rstrip("/")) == (second.netloc, second.path.rstrip("/"))
