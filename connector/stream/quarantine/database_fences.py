"""Lifts the fence of a database when none of its tables needs it any more.

The log names the database of a statement, not the tables that it changed. Each table is exempt from
the fence once its rows are known: it was copied again, emptied or created since. When all tables
are, the fence has no effect.

Only the server knows the tables without records. Its answer is of now, and the stream may be at an
earlier position: a table that consumers have counts as well until the log says that it is gone. A
table that is created meanwhile is exempt as soon as the stream sees it.

Nothing depends on when a fence is lifted. So if the server does not answer, the stream goes on, and
the server is asked again later.
"""

from collections.abc import Callable, Iterable
from math import inf

import structlog

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConfigError, SourceRefused, SourceUnavailable, fields
from connector.stream.envelope.schemas.schema_records import SchemaRecords
from connector.stream.quarantine.fences import ALL_TABLES, Fence, Fences

# After an answer that did not come.
_PAUSE_SECONDS = 60.0


class DatabaseFences:
    """The fences of whole databases."""

    def __init__(
        self,
        fences: Fences,
        schemas: SchemaRecords,
        tables: TableFilter,
        tables_of: Callable[[str], Iterable[str]],
        monotonic: Callable[[], float],
    ) -> None:
        """Lift some of `fences`; `tables` are followed, `schemas` has those of consumers.

        `tables_of` asks the server for the tables that a database has now. `monotonic` returns
        seconds.
        """
        self.fences = fences
        self._schemas = schemas
        self.tables = tables
        self._tables_of = tables_of
        self._monotonic = monotonic
        # By database, its fence, and the tables that were not exempt when the server was asked
        # last. A database that was dropped may come again, and get another fence.
        self._waiting: dict[str, tuple[Fence, set[str]]] = {}
        self._ask_at = -inf

    @property
    def seconds_left(self) -> float:
        """Return for how many seconds there is nothing to do; infinite if no fence can be lifted.

        It is not above 0 if there is something now.
        """
        return self._ask_at - self._monotonic() if self.fences.lift_candidates else inf

    def spare_source(self) -> None:
        """Ask the server nothing for a while."""
        self._ask_at = self._monotonic() + _PAUSE_SECONDS

    def lift(self, now_ms: int) -> None:
        """Lift the fences of databases whose followed tables are all exempt.

        Raises the target's errors.
        """
        while self.seconds_left <= 0:
            database = next(iter(self.fences.lift_candidates))
            try:
                for fence in self.fences.of(database, ALL_TABLES) or ():
                    self._lift_one(database, fence, now_ms)
            except (SourceUnavailable, SourceRefused, ConfigError) as error:
                structlog.get_logger().warning(
                    "the fence of a database stays for now: the server did not list its tables",
                    database=database,
                    again_in_seconds=_PAUSE_SECONDS,
                    **fields(error),
                )
                self.spare_source()
            else:
                self.fences.lift_candidates.discard(database)

    def _lift_one(self, database: str, fence: Fence, now_ms: int) -> None:
        exempt = set(fence.exempt)
        known = self._waiting.get(database)
        # The server is asked once, not for each table that is copied.
        if known is not None and known[0] is fence and known[1] - exempt:
            return
        waiting = self._followed(database) - exempt
        self._waiting[database] = fence, waiting
        if waiting:
            return
        self.fences.lift_database(database, now_ms)
        structlog.get_logger().info(
            "a fence is lifted: all tables of the database were copied, emptied or created since",
            table=fence.name,
        )

    def _followed(self, database: str) -> set[str]:
        """Return the followed tables of a database, at the server and among consumers."""
        names = {*self._tables_of(database), *self._schemas.current_tables(database)}
        return {table for table in names if self.tables.follows(database, table)}
