"""A schema record: the columns of a table from one sequence on, and the options of its mirror.

`TableOptions` is what the settings choose for the table once its columns are known. Its defaults
change nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from connector.foundation.contract import COLUMN_TYPES, EXACT, SchemaColumn, SchemaRecord, Sequence
from connector.foundation.errors.message import Message
from connector.foundation.record_formats import read_document
from stream_jobs.errors import MirrorError, job_errors, shard_errors
from stream_jobs.source.sequence import PackedSequence


class Shard(NamedTuple):
    """What the rows of one table have in a mirror that several tables share."""

    column: str
    value: str
    # That of the topics of its pipeline, if pipelines share the mirror.
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The choices for a table with one column list; the defaults change nothing."""

    # Whether the table has no mirror by choice.
    is_skipped: bool = False
    # The database and the name of the mirror; None: those of the table.
    place: tuple[str, str] | None = None
    # None: the mirror belongs to this table alone.
    shard: Shard | None = None
    # By the name of each column that is excluded, hashed or masked, in which way.
    hidden: Mapping[str, str] = field(default_factory=dict)
    # All columns at the source.
    source: tuple[str, ...] = ()
    # Columns that may be hidden ones under another name, and the name of those.
    suspects: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    # Why the table cannot have a mirror with these settings.
    problem: Message | None = None


# Column names with this prefix are the mirror's own.
OWN_PREFIX = "_cdc_"


# What each record and each column has.
_RECORD_FACTS: Final = {
    "database": str,
    "table": str,
    "schema_id": str,
    "seq": str,
    "columns": list,
}
_COLUMN_FACTS: Final = {"name": str, "type": str, "key": int}


def _with(record: Any, facts: Mapping[str, type]) -> Any:
    """Return the record; raises KeyError or TypeError if it lacks one of the facts."""
    for name, kind in facts.items():
        if not isinstance(record[name], kind):
            raise TypeError(name)
    return record


@dataclass(frozen=True)
class TableSchema:
    """The columns of a source table from the sequence `first` on."""

    database: str
    table: str
    schema_id: str
    first: PackedSequence  # of the first row that uses it, or of the statement
    columns: tuple[SchemaColumn, ...]
    # Of the statement that says the list; None if rows have shown it.
    stated: PackedSequence | None = None
    chosen: TableOptions = field(default_factory=TableOptions)

    @classmethod
    def decode(cls, value: bytes) -> "TableSchema":
        """Read the value of a record in `<prefix>.schema`.

        Raises ValueError, KeyError or TypeError for a value that is not such a record, and
        MirrorError for a sequence that a mirror cannot store, or for values that it cannot read.
        """
        record: SchemaRecord = _with(read_document(value), _RECORD_FACTS)
        profile = record.get("profile", EXACT)
        if profile != EXACT:
            raise MirrorError(
                job_errors.PROFILE, table=f"{record['database']}.{record['table']}", profile=profile
            )
        return cls(
            record["database"],
            record["table"],
            record["schema_id"],
            PackedSequence.pack(Sequence.parse(record["seq"])),
            tuple(_with(column, _COLUMN_FACTS) for column in record["columns"]),
            PackedSequence.pack(Sequence.parse(record["stated"])) if "stated" in record else None,
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

    @property
    def place(self) -> tuple[str, str]:
        """The database and the name of the mirror."""
        return self.chosen.place or (self.database, self.table)

    @property
    def mirror_name(self) -> str:
        """What the Delta table is called: `database.table`, which shards share."""
        return self.name if self.chosen.shard is None else ".".join(self.place)

    @property
    def of_mirror(self) -> "TableSchema":
        """The same columns under the name of the Delta table."""
        if self.chosen.shard is None:
            return self
        database, table = self.place
        return replace(self, database=database, table=table)

    def refuse_unfit(self) -> None:
        """Raise MirrorError if the settings do not fit the table."""
        problem = self.chosen.problem
        if problem is not None:
            raise MirrorError(problem.code, **problem.facts)

    @property
    def is_storable(self) -> bool:
        """Whether each column can be stored under its name, in its type, and as chosen."""
        try:
            self.refuse_unknown()
        except MirrorError:
            return False
        return True

    def refuse_unknown(self) -> None:
        """Raise MirrorError if a column cannot be stored under its name or type, or as chosen."""
        self.refuse_unfit()
        names: dict[str, str] = {}
        for column in self.columns:
            name = column["name"]
            other = names.setdefault(name.lower(), name)
            if other != name:
                raise MirrorError(job_errors.SAME_NAME, table=self.name, column=other, other=name)
            if column["type"] not in COLUMN_TYPES:
                raise MirrorError(
                    job_errors.UNKNOWN_TYPE, table=self.name, column=name, type=column["type"]
                )
            if name.lower().startswith(OWN_PREFIX):
                raise MirrorError(job_errors.COLUMN_NAME, table=self.name, column=name)
            shard = self.chosen.shard
            if shard is not None and name.lower() == shard.column.lower():
                raise MirrorError(shard_errors.SHARD_COLUMN, table=self.name, column=name)
