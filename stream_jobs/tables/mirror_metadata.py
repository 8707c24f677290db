"""The metadata of a mirror in its Delta log: table properties, and the progress of its topic.

*Properties* say which table it mirrors, and with which settings it was made.

*Progress* is the configuration of a domain in the log, and each commit holds it together with the
rows. So rows and progress change at once, and a record is never applied twice or left out,
whatever dies when.

*Offsets* say where the next batch begins, also with a new checkpoint.

*Marks.* The connector writes each partition in the order of its sequences, and all changes of one
key into one partition. So a record that is not above the mark was applied, together with
everything before it: an insert that comes twice does not bring back a row that was deleted in
between.

*Floor.* A truncate is one record in one partition; older rows can still come from the others.

*Truncates.* Where a truncate ends versions of rows instead, it is remembered until all partitions
are above it: an older change of such a row can still come.

*Since.* A row of another column list is newer than the mirror's list if its sequence is above the
one at which the table got the mirror's list. The same list can come back after a DROP COLUMN.

*Last.* The last change that was applied, with its transaction at the source. Each version of the
table shows it in its history.

*Topic.* A topic that is deleted and made again has another id, and other records at its offsets.

*Load.* Some tables' first rows are read from the source, and their topic has only what came later.

*Partitions.* With more partitions a key moves to another one, and its changes are no longer read
in order: the job stops, see `mirror.PARTITIONS_ADDED`.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#domain-metadata
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from connector.foundation.contract import SchemaColumn
from stream_jobs.apply.changes import LastChange
from stream_jobs.apply.task_messages import PartResult
from stream_jobs.errors import MirrorError, job_errors, setting_errors
from stream_jobs.source.column_types import mask_of
from stream_jobs.source.sequence import HI, LO, PackedSequence, Truncate
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.load_state import TableLoad

if TYPE_CHECKING:
    from stream_jobs.apply.modes.mode import Mode
    from stream_jobs.delta.table import DeltaTable


TABLE_PROPERTY: Final = "cdc.table"
SCHEMA_PROPERTY: Final = "cdc.schema_id"
KEY_PROPERTY: Final = "cdc.key"
HIDDEN_PROPERTY: Final = "cdc.hidden"
MODE_PROPERTY: Final = "cdc.mode"
PLACE_PROPERTY: Final = "cdc.place"
COLUMNS_PROPERTY: Final = "cdc.columns"
# Of a mirror that tables share: the column of the shard.
SHARD_PROPERTY: Final = "cdc.shard"
# Of a shard in a mirror that pipelines share: the prefix of its topics.
PREFIX_PROPERTY: Final = "cdc.topic_prefix"


_OF_SHARDS: Final = (
    TABLE_PROPERTY,
    SCHEMA_PROPERTY,
    KEY_PROPERTY,
    HIDDEN_PROPERTY,
    COLUMNS_PROPERTY,
)


def properties_of(schema: TableSchema) -> dict[str, str]:
    """Return the properties of a mirror that has the columns of `schema`."""
    shard = schema.chosen.shard
    prefix = {PREFIX_PROPERTY: shard.prefix} if shard is not None and shard.prefix else {}
    return prefix | {
        TABLE_PROPERTY: schema.name,
        SCHEMA_PROPERTY: schema.schema_id,
        KEY_PROPERTY: json.dumps(schema.key, ensure_ascii=False),
        HIDDEN_PROPERTY: json.dumps(schema.chosen.hidden, ensure_ascii=False),
        # The path of a mirror may have only a hash of a long name.
        PLACE_PROPERTY: json.dumps(schema.place, ensure_ascii=False),
        COLUMNS_PROPERTY: json.dumps([_kept(c) for c in schema.columns], ensure_ascii=False),
    }


def shard_properties(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return those properties that each shard of a mirror has for itself."""
    own = {name: configuration[name] for name in _OF_SHARDS}
    prefix = configuration.get(PREFIX_PROPERTY)
    return own if prefix is None else own | {PREFIX_PROPERTY: prefix}


def place_of(configuration: Mapping[str, str]) -> tuple[str, str]:
    """Return the database and the name of a mirror that has these properties."""
    database, table = json.loads(configuration[PLACE_PROPERTY])
    return database, table


def row_key_of(configuration: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that tell the rows of a mirror with these properties apart, if any do."""
    key = tuple(json.loads(configuration.get(KEY_PROPERTY, "[]")))
    is_history = configuration.get(MODE_PROPERTY) == "history"
    return (*key, HI, LO) if key and is_history else key


def _kept(column: SchemaColumn) -> SchemaColumn:
    """Return what the rows of a mirror need to become those of a database again."""
    if mask_of(column) is not None:
        return {
            "name": column["name"],
            "type": "text",
            "nullable": column["nullable"],
            "key": column["key"],
        }
    copy = column.copy()
    copy.pop("added_default", None)
    copy.pop("added_default_unknown", None)
    return copy


def refuse_other_mode(own: DeltaTable, mode: Mode, table: str, base: str) -> None:
    """Raise MirrorError unless the mirror was made with `mode`."""
    before = own.snapshot.configuration.get(MODE_PROPERTY, "current")
    if before != mode.name:
        path = f"{base.rstrip('/')}/{own.path}"
        raise MirrorError(
            job_errors.MODE_CHANGED, table=table, path=path, before=before, now=mode.name
        )


def refuse_other_choices(own: DeltaTable, schema: TableSchema, base: str) -> None:
    """Raise MirrorError if the mirror was made with other settings than those of `schema`."""
    metadata = own.snapshot.metadata
    path = f"{base.rstrip('/')}/{own.path}"
    before = json.loads(metadata.configuration.get(HIDDEN_PROPERTY, "{}"))
    now = schema.chosen.hidden
    others = [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]
    if others:
        raise MirrorError(
            setting_errors.OTHER_COLUMNS, table=schema.name, path=path, columns=sorted(others)
        )
    if metadata.partition_columns != schema.chosen.partition_by:
        raise MirrorError(
            setting_errors.OTHER_PARTITIONS,
            table=schema.name,
            path=path,
            before=metadata.partition_columns,
            now=schema.chosen.partition_by,
        )


DOMAIN: Final = "binlog-connector"
# If a partition never had a change, no truncate can be forgotten. Older ones than these are.
_TRUNCATES_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one mirror."""

    schema_id: str
    since: PackedSequence
    partitions: int
    # Whether keys have moved to added partitions, which `kafka.added_partitions` accepted.
    are_keys_moved: bool = False
    floor: PackedSequence | None = None
    offsets: Mapping[int, int] = field(default_factory=dict)  # by partition: the next one
    marks: Mapping[int, PackedSequence] = field(default_factory=dict)  # by partition
    source_ts_ms: int | None = None  # when the source committed the latest applied change
    truncates: tuple[Truncate, ...] = ()  # in order
    last: LastChange | None = None
    # The rows that came from the source and not from the topic, if some did.
    load: TableLoad | None = None
    # The id of the topic, in hex; "" if the brokers have not said it.
    topic_id: str = ""

    @classmethod
    def read(cls, text: str) -> Progress:
        """Read what `write` returned; raises ValueError, KeyError or TypeError for other text."""
        document: dict[str, Any] = json.loads(text)
        floor, last, load = document["floor"], document["last"], document.get("load")
        return cls(
            document["schema"],
            PackedSequence(*document["since"]),
            document["partitions"],
            document["moved"],
            None if floor is None else PackedSequence(*floor),
            {int(partition): offset for partition, offset in document["offsets"].items()},
            {int(part): PackedSequence(*mark) for part, mark in document["marks"].items()},
            document["source_ts_ms"],
            tuple(Truncate(PackedSequence(hi, lo), us) for hi, lo, us in document["truncates"]),
            None if last is None else LastChange(PackedSequence(*last[0]), last[1]),
            None if load is None else TableLoad.read(load),
            document.get("topic_id", ""),
        )

    def write(self) -> str:
        """Return the JSON that the log holds."""
        load = {} if self.load is None else {"load": self.load.document()}
        topic = {"topic_id": self.topic_id} if self.topic_id else {}
        return json.dumps(
            load
            | topic
            | {
                "schema": self.schema_id,
                "since": self.since,
                "floor": self.floor,
                "partitions": self.partitions,
                "moved": self.are_keys_moved,
                "offsets": self.offsets,
                "marks": self.marks,
                "source_ts_ms": self.source_ts_ms,
                "truncates": [[*truncate.sequence, truncate.us] for truncate in self.truncates],
                "last": self.last,
            },
            separators=(",", ":"),
        )

    def note(self) -> str:
        """Return what each version of the table says about itself to people: its last change."""
        if self.last is None:
            return ""
        seq, transaction = self.last
        return json.dumps({"cdc.gtid": transaction, "cdc.seq": str(seq.unpack())})

    def after(self, results: Sequence[PartResult]) -> Progress:
        """Return the progress after records were applied."""
        offsets, marks = dict(self.offsets), dict(self.marks)
        times = [] if self.source_ts_ms is None else [self.source_ts_ms]
        for result in results:
            for partition, end in result.offsets.items():
                offsets[partition] = max(end, offsets.get(partition, end))
            for partition, highest in result.highest.items():
                marks[partition] = max(highest, marks.get(partition, highest))
            times += [] if result.source_ts_ms is None else [result.source_ts_ms]
        latest = max(times, default=None)
        last = max(
            (sequence for sequence in (self.last, *(r.last for r in results)) if sequence),
            default=None,
        )
        lowest = min(marks.values()) if len(marks) >= self.partitions else None
        late = [
            truncate for truncate in self.truncates if lowest is None or truncate.sequence > lowest
        ]
        return replace(
            self,
            offsets=offsets,
            marks=marks,
            source_ts_ms=latest,
            truncates=tuple(late[-_TRUNCATES_MAX:]),
            last=last,
        )

    def with_truncates(
        self, floor: PackedSequence | None, truncates: Iterable[Truncate]
    ) -> Progress:
        """Return the progress with another floor and more truncates."""
        every = tuple(sorted({*self.truncates, *truncates}))
        if (floor, every) == (self.floor, self.truncates):
            return self
        return replace(self, floor=floor, truncates=every)
