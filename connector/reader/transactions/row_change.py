"""A changed row of a table, with its column names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - a compiled dataclass looks its types up
from typing import TYPE_CHECKING, final

from mypy_extensions import mypyc_attr

from connector.errors import ConfigError, arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from connector.binlog.columns.values import Value
    from connector.binlog.events.table_map import TableMapEvent
    from connector.gtid import Gtid, MariadbGtid

Image = dict[str, "Value"]


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(slots=True, init=False)
class RowChange:
    """One row before and after the change; columns that an image leaves out are missing.

    An insert has no `before`, a delete no `after`. A value that an update did not change may be the
    same object in both.
    """

    database: str
    table: str
    op: str  # "insert", "update" or "delete"
    before: Image | None
    after: Image | None
    gtid: Gtid | MariadbGtid | None
    file: str
    position: int  # of the event that holds the row
    timestamp: datetime  # when the statement began, in UTC
    seq: int  # counts the rows of the transaction, from 0

    def __init__(
        self,
        database: str,
        table: str,
        op: str,
        before: Image | None,
        after: Image | None,
        gtid: Gtid | MariadbGtid | None,
        file: str,
        position: int,
        timestamp: datetime,
        seq: int,
    ) -> None:
        """Set the fields in their order; written out, because it runs for every row."""
        self.database = database
        self.table = table
        self.op = op
        self.before = before
        self.after = after
        self.gtid = gtid
        self.file = file
        self.position = position
        self.timestamp = timestamp
        self.seq = seq


def column_names(
    table_map: TableMapEvent, schemas: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """Return a table's column names: from the log, else from `schemas`, else @1, @2, ….

    Raises ConfigError if `schemas` has a different number of columns.
    """
    columns = table_map.columns
    table = f"{table_map.schema}.{table_map.table}"
    given = None if schemas is None else schemas.get(table)
    if given is not None and len(given) != len(columns):
        raise ConfigError(
            arguments.SCHEMAS_COLUMNS, given=len(given), table=table, count=len(columns)
        )
    return [
        column.name
        if column.name is not None
        else given[index]
        if given is not None
        else f"@{index + 1}"
        for index, column in enumerate(columns)
    ]
