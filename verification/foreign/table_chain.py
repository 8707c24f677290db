"""What `--forever` knows of one table of another program, from one comparison to the next.

A comparison begins at a moment of the source, and at a position of the log before which everything
is of that moment. It proves each key as it is then, or later. So the next comparison needs only the
keys that the log names after that position, and those that differed, lagged or were not settled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from connector.foundation.contract import SchemaColumn
from stream_jobs.errors import MirrorError
from verification.digests import Digest
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.logged_keys import KEYS_MAX, LoggedKeys
from verification.foreign.shared_log import TableReading
from verification.foreign.source_rows import SourceRows
from verification.foreign.table_choice import TableChoice
from verification.source_moment import SourceMoment
from verification.source_table import RowKey

_US_OF_AN_HOUR: Final = 3_600_000_000


@dataclass(frozen=True, slots=True)
class RoundStart:
    """Where the comparisons of a round begin."""

    at: SourceMoment
    position: str  # of the log: everything before it is of the moment; "" if that is not known


@dataclass(slots=True)
class TableChain:
    """One table and its comparisons; one thread uses it."""

    choice: TableChoice
    position: str = ""  # from which on changes were not compared; "": all rows have to be
    columns: Sequence[SchemaColumn] = ()  # of the source, when all rows were compared
    logged: LoggedKeys | None = None
    open_keys: Mapping[Digest, RowKey] = field(default_factory=dict)
    whole_at: SourceMoment | None = None  # when the last comparison of all rows began
    is_whole: bool = False  # whether all rows are being compared
    mapping: ColumnMapping | None = None
    _compared: Mapping[Digest, RowKey] | None = None

    def reading(self) -> TableReading | None:
        """Return what it wants of the log; None if all rows have to be compared anyway."""
        if self.logged is None or not self.position or self.logged.needs_all_rows:
            return None
        return TableReading(self.logged, self.position)

    def limit_keys(self) -> None:
        """Have all rows compared in place of too many keys, such as while a target is away."""
        if self.logged is not None and len(self.open_keys) + len(self.logged.keys) > KEYS_MAX:
            self.logged.needs_all_rows, self.open_keys = True, {}
            self.logged.keys.clear()

    def is_due(self, at: SourceMoment, hours: float) -> bool:
        """Return whether all rows have to be compared."""
        is_lost = self.logged is None or not self.position or self.logged.needs_all_rows
        if is_lost or self.whole_at is None:
            return True
        return at.time_us - self.whole_at.time_us >= hours * _US_OF_AN_HOUR

    def require_same(self, source: SourceRows) -> None:
        """Raise MirrorError if the table has other columns by now."""
        if tuple(self.columns) != tuple(source.schema.columns):
            facts = {"table": self.choice.name, "statement": "ALTER TABLE"}
            raise MirrorError(foreign_errors.TABLE_CHANGED, **facts)

    def taken_keys(self, start: RoundStart) -> dict[Digest, RowKey]:
        """Return the keys that have to be compared, and go on behind them."""
        assert self.logged is not None
        keys = {**self.open_keys, **self.logged.keys}
        self.logged.keys.clear()
        # Until they are compared.
        self.position, self.open_keys, self._compared = start.position, keys, keys
        return keys

    def take(self, result: ForeignResult, source: SourceRows | None, start: RoundStart) -> None:
        """Take what a comparison has found that began at `start`, of rows that `source` reads."""
        is_done = result.error is None
        if result.changed_keys is None:
            self.is_whole = False
            self.whole_at = start.at
            # It is begun again if it has failed.
            self.position = ""
            if is_done and source is not None and result.mapping is not None:
                self.position, self.columns = start.position, source.schema.columns
                self.logged = LoggedKeys(source, result.mapping)
                self.mapping = result.mapping
                self.open_keys = result.open_keys
        elif is_done:
            # Meanwhile, a comparison of all rows may have found more.
            later = self.open_keys if self.open_keys is not self._compared else {}
            self.open_keys = {**later, **result.open_keys}
        if result.has_unknown_keys:
            # Only a comparison of all rows finds them again.
            self.position = ""
