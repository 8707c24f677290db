"""The definitions of many tables of the source, read with few statements."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from connector.foundation.errors import UnsupportedChange
from connector.stream.snapshot.jobs import PlanJob, TablePlan
from connector.stream.snapshot.keyset import can_be_paged
from connector.stream.snapshot.table_plan import STATISTICS
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.snapshot.watermark import LogPosition
from connector.stream.source import information_schema
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable

TableName = tuple[str, str]

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
