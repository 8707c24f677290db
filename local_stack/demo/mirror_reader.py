"""Reads the mirror with delta-rs, an implementation of Delta that did not write it.

Only its SQL engine knows deletion vectors and column mapping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

if TYPE_CHECKING:
    from pathlib import Path


def read_mirror(path: Path | str, where: str = "true") -> pa.Table:
    """Return the rows of the table at `path` for which the SQL condition `where` holds.

    Raises TableNotFoundError without a table.
    """
    return query_mirror(DeltaTable(path), f"SELECT * FROM mirror WHERE {where}")  # noqa: S608 # the caller's


def query_mirror(table: DeltaTable, sql: str) -> pa.Table:
    """Return the result of a statement about the table `mirror`."""
    return pa.table(QueryBuilder().register("mirror", table).execute(sql))
