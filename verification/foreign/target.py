"""The interface of a target: a table that some program has made, as Arrow's batches.

A target is read as it is: rows in no order, columns by their own names and types. What it reads at
once is a *state* of the table. A Delta table has versions, so a state is one moment of it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# Says which rows of some columns are wanted, by their places.
Choose = Callable[[pa.Table], NDArray[np.int64]]


class NamedKeys(NamedTuple):
    """Keys of rows, if the target has their values as the source does."""

    names: Sequence[str]  # columns of the target
    values: Sequence[tuple[object, ...]]


class Target(Protocol):
    """One table that is compared with the source.

    Methods raise MirrorError if the table cannot be read, and SourceUnavailable if the connection
    to its server is lost: the next reading makes it again.
    """

    name: str  # as the user has named it
    # Whether what is read between two calls of `refresh` is one moment of the table.
    has_versions: bool

    def refresh(self) -> str:
        """Read the newest state from now on; return its name, such as `version 812`."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """The columns of the state."""
        ...

    @property
    def rows(self) -> int:
        """About how many rows it has; 0 if nobody knows."""
        ...

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield columns of all rows, some at a time."""
        ...

    def chosen(
        self,
        names: Sequence[str],
        of: Sequence[str],
        choose: Choose,
        keys: NamedKeys | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the columns `names` of the rows that `choose` returns for their columns `of`.

        With `keys`, only rows that have one of them are wanted.
        """
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class VersionedTarget(Target, Protocol):
    """A table whose states have numbers, by which they can be read again."""

    @property
    def version(self) -> str:
        """The number of the state; "" if the table has none yet."""
        ...

    @property
    def table_id(self) -> str:
        """What tells this table from another one at its place."""
        ...

    @property
    def duckdb_scan(self) -> str:
        """The table function of DuckDB that reads the state."""
        ...

    def read_version(self, version: str) -> str:
        """Read one state from now on; return its name.

        Raises MirrorError if it, or the table, is not there.
        """
        ...
