"""The settings of each table: the first entry of `tables` that has a pattern for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_jobs.choices.column_choices import with_choices
from stream_jobs.settings import TableSettings
from stream_jobs.source.skipped import SkippedTables
from stream_jobs.source.table_patterns import first_fit, is_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.schema.table_schema import TableSchema
    from stream_jobs.settings import Settings

_DEFAULT = TableSettings(match=["*.*"])


class TableChoices:
    """Finds the settings of a table."""

    def __init__(self, tables: Sequence[TableSettings], salt: str = "") -> None:
        """Look in `tables`, in their order; hashes begin with `salt`."""
        patterns = ((pattern.partition("."), own) for own in tables for pattern in own.match)
        self._choices = [(of, name, own) for (of, _, name), own in patterns]
        self._salt = salt

    @classmethod
    def of_settings(cls, settings: Settings) -> TableChoices:
        """Return what the settings of a job choose."""
        salt = settings.mirror.hash_salt
        return cls(settings.tables, "" if salt is None else salt.get_secret_value())

    def of(self, database: str, table: str) -> TableSettings:
        """Return the settings of `database.table`; the defaults if no pattern names it."""
        return first_fit(self._choices, database, table, _DEFAULT)

    def applied(self, schema: TableSchema, older: Sequence[TableSchema]) -> TableSchema:
        """Return a column list of the source as the mirror has it; `older` are earlier ones."""
        own = self.of(schema.database, schema.table)
        is_named = own is not _DEFAULT and len(own.match) == 1 and not is_pattern(own.match[0])
        return with_choices(schema, own, self._salt, older, is_named=is_named)

    @property
    def skipped(self) -> SkippedTables:
        """Which tables have no mirror by choice."""
        return SkippedTables(tuple((of, name, own.skip) for of, name, own in self._choices))
