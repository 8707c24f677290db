"""The mirror as delta-rs reads it, an implementation of Delta that did not write it.

Only its SQL engine knows deletion vectors and column mapping. `MirrorRows` counts the rows of
growing mirrors.
"""

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from local_stack.demo.configuration import DemoDirectory


def read_mirror(path: Path | str, where: str = "true") -> pa.Table:
    """Return the rows of the table at `path` for which the SQL condition `where` holds.

    Raises TableNotFoundError without a table.
    """
    return query_mirror(DeltaTable(path), f"SELECT * FROM mirror WHERE {where}")  # noqa: S608 # the caller's


def query_mirror(table: DeltaTable, sql: str) -> pa.Table:
    """Return the result of a statement about the table `mirror`."""
    return pa.table(QueryBuilder().register("mirror", table).execute(sql))


class MirrorRows:
    """Counts the rows of growing mirrors."""

    def __init__(self, directory: DemoDirectory) -> None:
        """Count the mirrors of `directory`."""
        self._directory = directory
        self._tables: dict[str, DeltaTable] = {}

    def count(self, table: str) -> int:
        """Return the number of rows of a table's mirror, 0 if it does not exist yet."""
        known = self._tables.get(table)
        if known is None:
            path = str(self._directory.mirror_of(table))
            if not DeltaTable.is_deltatable(path):
                return 0
            known = self._tables[table] = DeltaTable(path)
        else:
            known.update_incremental()
        count: int = query_mirror(known, "SELECT count(*) FROM mirror")[0][0].as_py()
        return count
