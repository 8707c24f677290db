"""How many rows each mirror has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalake import DeltaTable

from local_stack.demo.mirror_reader import query_mirror

if TYPE_CHECKING:
    from local_stack.demo.configuration import DemoDirectory


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
