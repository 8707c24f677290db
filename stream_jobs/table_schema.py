"""A schema record becomes the columns of a mirror; two of them show which columns were added.

Only added columns can be followed; all other facts about the columns must stay the same. These
changes do not matter for a mirror: NULL and NOT NULL, lengths, character sets, labels, the order of
columns, and types with the same JSON form and Spark type (VARCHAR to TEXT).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from connector.contract import COLUMN_TYPES, Sequence
from connector.errors import MirrorError, SchemaUnfollowed, mirror
from stream_jobs.column_types import ColumnType, type_text
from stream_jobs.sequence import PackedSequence

if TYPE_CHECKING:
    from connector.contract import SchemaColumn, SchemaRecord

# Column names with this prefix are the mirror's own.
OWN_PREFIX = "_cdc_"
# Delta without column mapping cannot name these.
_NAMES_FORBID = frozenset(" ,;{}()\n\t=")


class AddedColumn(NamedTuple):
    """A column that only the newer schema has, and the column before it (None: it is the first)."""

    column: SchemaColumn
    after: str | None


@dataclass(frozen=True)
class TableSchema:
    """The columns of a source table from the sequence `first` on."""

    database: str
    table: str
    schema_id: str
    first: PackedSequence  # of the first row that uses it
    columns: tuple[SchemaColumn, ...]

    @classmethod
    def decode(cls, value: bytes) -> TableSchema:
        """Read the value of a record in `<prefix>.schema`.

        Raises ValueError, KeyError or TypeError for a value that is not such a record, and
        MirrorError for a sequence that a mirror cannot store.
        """
        record: SchemaRecord = json.loads(value)
        return cls(
            record["database"],
            record["table"],
            record["schema_id"],
            PackedSequence.pack(Sequence.parse(record["seq"])),
            tuple(record["columns"]),
        )

    @property
    def name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.table}"

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The names of the primary key's columns, in key order; empty without a key."""
        keyed = sorted((column["key"], column["name"]) for column in self.columns if column["key"])
        return tuple(name for _, name in keyed)

    @cached_property
    def by_name(self) -> dict[str, SchemaColumn]:
        """The columns by name."""
        return {column["name"]: column for column in self.columns}

    def refuse_unknown(self) -> None:
        """Raise MirrorError if a column cannot be stored under its name or type."""
        for column in self.columns:
            name = column["name"]
            if column["type"] not in COLUMN_TYPES:
                raise MirrorError(
                    mirror.UNKNOWN_TYPE, table=self.name, column=name, type=column["type"]
                )
            if name.lower().startswith(OWN_PREFIX) or _NAMES_FORBID & set(name):
                raise MirrorError(mirror.COLUMN_NAME, table=self.name, column=name)

    def added_since(self, older: TableSchema, path: str) -> list[AddedColumn]:
        """Return the columns that this schema has and `older` lacks, in the order of this one.

        Raises SchemaUnfollowed if anything else differs. `path` is the folder of the mirror.
        """
        if self.key != older.key:
            raise SchemaUnfollowed(
                mirror.KEY_CHANGED, table=self.name, before=older.key, now=self.key, path=path
            )
        for column in older.columns:
            name, old_type = column["name"], type_text(column)
            now_column = self.by_name.get(name)
            if now_column is None:
                raise SchemaUnfollowed(
                    mirror.COLUMN_GONE, table=self.name, column=name, type=old_type, path=path
                )
            if ColumnType.of(now_column) != ColumnType.of(column):
                raise SchemaUnfollowed(
                    mirror.COLUMN_RETYPED,
                    table=self.name,
                    column=name,
                    before=old_type,
                    now=type_text(now_column),
                    path=path,
                )
        added: list[AddedColumn] = []
        after: str | None = None
        for column in self.columns:
            if column["name"] not in older.by_name:
                added.append(AddedColumn(column, after))
            after = column["name"]
        return added
