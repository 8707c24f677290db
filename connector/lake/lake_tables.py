"""The tables of a lake as data frames, for programs and notebooks.

delta-rs reads them: its SQL knows deletion vectors and column mapping, which the tables have.
`DeltaTable.to_pyarrow_table` and `DeltaTable.to_pandas` refuse both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from connector.foundation.errors import ConfigError
from connector.lake import lake_errors
from connector.lake.lake_pipeline import left_out_error

if TYPE_CHECKING:
    import pandas as pd

    from connector.lake.lake_folder import LakeFolder
    from stream_jobs.cuts import Cut


class LakeTable:
    """One version of a table, however it changes later."""

    def __init__(self, name: str, delta: DeltaTable) -> None:
        self.name = name  # `database.table`
        self.delta = delta  # its path, version and history, and what else delta-rs offers

    def to_pyarrow_table(self) -> pa.Table:
        """Read all rows."""
        query = QueryBuilder().register("rows", self.delta)
        return pa.table(query.execute("SELECT * FROM rows"))

    def to_pandas(self) -> pd.DataFrame:
        """Read all rows. Raises ImportError if pandas is not installed."""
        return self.to_pyarrow_table().to_pandas()


def table_of(folder: LakeFolder, cut: Cut | None, name: str) -> LakeTable:
    """Return the table `name` of a lake whose newest moment of all tables is `cut`.

    Raises ConfigError if it has none of this name, and DefiniteError if it was set aside.
    """
    if cut is not None and (found := cut.tables.get(name)) is not None:
        return LakeTable(name, DeltaTable(folder.path / found.path))
    if cut is not None and name in cut.left_out:
        raise left_out_error(folder, name, cut.left_out[name])
    names = "none yet" if cut is None else sorted(cut.tables) or "none yet"
    raise ConfigError(lake_errors.NO_TABLE, folder=folder.path, table=name, names=names)
