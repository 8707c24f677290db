"""Lifts the fence of a database when none of its tables needs it any more.

The log names the database of a statement, not the tables that it changed. Each table is exempt from
the fence once its rows are known: it was copied again, emptied or created since. When all tables
are, the fence has no effect.

Only the server knows the tables without records. Its answer is of now, and the stream may be at an
earlier position: a table that consumers have counts as well until the log says that it is gone. A
table that is created meanwhile is exempt as soon as the stream sees it.
"""

from collections.abc import Callable, Iterable

import structlog

from connector.binlog.table_filter import TableFilter
from connector.stream.envelope.schemas.schema_records import SchemaRecords
from connector.stream.quarantine.fences import ALL_TABLES, Fences


class DatabaseFences:
    """The fences of whole databases."""

    def __init__(
        self,
        fences: Fences,
        schemas: SchemaRecords,
        tables: TableFilter,
        tables_of: Callable[[str], Iterable[str]],
    ) -> None:
        """Lift some of `fences`; `tables` are followed, `schemas` has those of consumers.

        `tables_of` asks the server for the tables that a database has now.
        """
        self._fences = fences
        self._schemas = schemas
        self._tables = tables
        self._tables_of = tables_of
        # By database, the tables that were not exempt when the server was asked last.
        self._waiting: dict[str, set[str]] = {}

    def lift(self, now_ms: int) -> None:
        """Lift the fences of databases whose followed tables are all exempt.

        Raises SourceUnavailable or SourceRefused if the server cannot be asked, and the target's
        errors.
        """
        while self._fences.exempted:
            database = self._fences.exempted.pop()
            for fence in self._fences.of(database, ALL_TABLES) or ():
                exempt = set(fence.exempt)
                # The server is asked once, not for each table that is copied.
                if self._waiting.get(database, exempt) - exempt:
                    continue
                self._waiting[database] = self._followed(database) - exempt
                if not self._waiting[database]:
                    self._fences.lift_database(database, now_ms)
                    structlog.get_logger().info(
                        "a fence is lifted: all tables of the database were copied, emptied or "
                        "created since",
                        table=fence.name,
                    )

    def _followed(self, database: str) -> set[str]:
        """Return the followed tables of a database, at the server and among consumers."""
        names = {*self._tables_of(database), *self._schemas.existing(database)}
        return {table for table in names if self._tables.follows(database, table)}
