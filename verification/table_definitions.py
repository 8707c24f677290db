"""The definitions of many tables of the source, read with few statements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from connector.binlog.sql_text import sql_text
from connector.foundation.errors import UnsupportedChange
from connector.stream.snapshot.jobs import PlanJob, TablePlan
from connector.stream.snapshot.keyset import can_be_paged
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.snapshot.watermark import LogPosition
from connector.stream.source.information_schema import Row, by_database, read_definitions
from connector.stream.source.selected_table import SelectedTable

if TYPE_CHECKING:
    from connector.stream.source.select_session import SelectSession

TableName = tuple[str, str]

_STATISTICS = """
    SELECT t.table_name AS name, t.table_rows AS estimated, e.transactions AS transactional
    FROM information_schema.tables t LEFT JOIN information_schema.engines e ON e.engine = t.engine
    WHERE t.table_schema = {database} AND t.table_name {names}
"""


# The source says that a table has no more rows.
_FEW_ROWS: Final = 2000


class DefinedTable(NamedTuple):
    """How a table is read, and its columns as `information_schema` has them."""

    plan: TablePlan
    columns: list[Row]

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
    for database, tables in by_database(names).items():
        definitions = read_definitions(session, database, tables)
        statistics = _statistics(session, database, tables)
        for table in definitions.keys() & statistics.keys():
            definition, own = definitions[table], statistics[table]
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


def _statistics(session: SelectSession, database: str, tables: list[str]) -> dict[str, Row]:
    quoted = [sql_text(table) for table in tables]
    # MariaDB looks at all tables of the database, unless a condition names one.
    is_mariadb = session.identity.flavour == "mariadb"
    conditions = [f"= {name}" for name in quoted] if is_mariadb else [f"IN ({', '.join(quoted)})"]
    selects = [_STATISTICS.format(database=sql_text(database), names=each) for each in conditions]
    return {row["name"] or "": row for row in session.query(" UNION ALL ".join(selects))}
