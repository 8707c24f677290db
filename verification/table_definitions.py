"""The definitions of many tables of the source, read with few statements."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple, Self

from connector.foundation.errors import UnsupportedChange
from connector.stream.snapshot.jobs import PlanJob, TablePlan
from connector.stream.snapshot.keyset import can_be_paged
from connector.stream.snapshot.table_plan import STATISTICS
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.snapshot.watermark import LogPosition
from connector.stream.source import information_schema
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from verification.shared_looks import result_of

TableName = tuple[str, str]

# Tables that are compared together, and those whose definitions are read together.
TABLES_OF_A_PART: Final = 100
_TABLES_OF_A_QUERY: Final = 500
# The source says that a table has no more rows.
_FEW_ROWS: Final = 2000


class DefinedTable(NamedTuple):
    """How a table is read, and its columns as `information_schema` has them."""

    plan: TablePlan
    columns: list[information_schema.Row]

    @property
    def has_few_rows(self) -> bool:
        """Whether the source takes the table for a small one."""
        return self.plan.estimated_rows <= _FEW_ROWS


def read_tables(
    session: SelectSession, names: Iterable[TableName]
) -> dict[TableName, DefinedTable]:
    """Return those of some tables, each a database and a table, that can be read together.

    What is wrong with another one is found when it is read alone. Raises the errors of the session.
    """
    found: dict[TableName, DefinedTable] = {}
    for database, tables in information_schema.by_database(names).items():
        definitions = information_schema.read_definitions(session, database, tables)
        statistics = information_schema.rows_by_table(session, STATISTICS, "1", database, tables)
        for table in definitions.keys() & statistics.keys():
            definition, (own,) = definitions[table], statistics[table]
            try:
                selected = SelectedTable.of_definition(session, (database, table), definition)
            except UnsupportedChange:
                continue
            plan = TablePlan(
                PlanJob(0, database, table),
                selected,
                own["transactional"] == "YES",
                [KeyRange()] if can_be_paged(selected) else [],
                "",
                int(own["estimated"] or 0),
                0,
                LogPosition(0, 0),
                [],
            )
            found[database, table] = DefinedTable(plan, definition.columns)
    return found


class TablesInParts:
    """Some tables after the other, with their definitions; a context manager ends its thread.

    While some are compared, the definitions of the next ones are read.
    """

    def __init__(self, session: SelectSession, names: Sequence[TableName]) -> None:
        """Read the tables `names` over `session`, which other threads may use, too."""
        self._session = session
        self._names = names
        self._reader = ThreadPoolExecutor(1, "verify-definitions")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.shutdown(wait=False, cancel_futures=True)

    def __iter__(self) -> Iterator[tuple[Sequence[TableName], dict[TableName, DefinedTable]]]:
        """Yield names, and those definitions of them that `read_tables` returns; raises as it."""
        queries = [*_sliced(self._names, _TABLES_OF_A_QUERY)]
        begun = self._begun(queries[:1])
        for number, names in enumerate(queries):
            (defined,) = map(result_of, begun)
            begun = self._begun(queries[number + 1 : number + 2])
            for some in _sliced(names, TABLES_OF_A_PART):
                yield some, {name: defined[name] for name in some if name in defined}

    def _begun(
        self, queries: Iterable[Sequence[TableName]]
    ) -> list[Future[dict[TableName, DefinedTable]]]:
        return [self._reader.submit(read_tables, self._session, names) for names in queries]


def _sliced(names: Sequence[TableName], size: int) -> Iterator[Sequence[TableName]]:
    return (names[start : start + size] for start in range(0, len(names), size))
