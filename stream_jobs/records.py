"""Records of Spark's Kafka source become changes with typed headers, and a summary of a batch.

    topic  partition  offset  key  value  headers {cdc.seq, cdc.op, cdc.schema}
      ▼
    topic  partition  offset  key  value  op  schema_id  hi  lo  problem

`problem` is the index in `_PROBLEMS` of what is wrong with the headers, or NULL. A tombstone
repeats the headers of its `d`; here its `op` is NULL, and it is never applied.

https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

from connector.contract import (
    HEADER_OP,
    HEADER_SCHEMA,
    HEADER_SEQ,
    OP_CREATE,
    OP_DELETE,
    OP_READ,
    OP_TRUNCATE,
    OP_UPDATE,
)
from connector.errors import MirrorError, mirror_records
from connector.errors.message import Message
from stream_jobs.sequence import PackedSequence, pack_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

# Rows of copies have sequences like changes, and are applied like updates.
ROW_OPS = (OP_CREATE, OP_UPDATE, OP_DELETE, OP_READ)

_PROBLEMS = (
    Message(mirror_records.NO_SEQUENCE, {}),
    Message(mirror_records.WRONG_SEQUENCE, {}),
    Message(mirror_records.NO_HEADER, {"header": HEADER_OP}),
    Message(mirror_records.WRONG_OP, {}),
    Message(mirror_records.NO_HEADER, {"header": HEADER_SCHEMA}),
    Message(mirror_records.NO_VALUE, {}),
)


def typed_records(kafka: DataFrame) -> DataFrame:
    """Return one row for each record of `kafka`, with its headers as columns."""
    # One projection for each step: in a single one, each use of a header would search it again.
    headers = kafka.select(
        "topic",
        "partition",
        "offset",
        "key",
        "value",
        _header(HEADER_SEQ, 0).alias("seq"),
        _header(HEADER_OP, 1).alias("op"),
        _header(HEADER_SCHEMA, 2).alias("schema_id"),
    )
    seq, op, schema_id, value = map(F.col, ("seq", "op", "schema_id", "value"))
    hi, lo = pack_columns(seq)
    is_tombstone = value.isNull() & (op == OP_DELETE)
    packed = headers.withColumns({"hi": hi, "lo": lo})
    conditions = (
        seq.isNull(),
        F.col("hi").isNull(),
        op.isNull(),
        ~op.isin(*ROW_OPS, OP_TRUNCATE),
        schema_id.isNull(),
        value.isNull(),
    )
    problem = F.when(is_tombstone & schema_id.isNotNull(), None)
    for number, condition in enumerate(conditions):
        problem = problem.when(condition, number)
    return packed.select(
        "topic",
        "partition",
        "offset",
        "key",
        "value",
        F.when(~is_tombstone, op).alias("op"),
        "schema_id",
        "hi",
        "lo",
        problem.alias("problem"),
    )


@dataclass(frozen=True, slots=True)
class RecordPosition:
    """The topic, partition and offset of a record."""

    topic: str
    partition: int
    offset: int
    seq: PackedSequence | None

    def corrupt(self, why: Message) -> MirrorError:
        """Return the error that names this record, and why it is refused."""
        topic, partition, offset = self.topic, self.partition, self.offset
        if self.seq is None:
            return MirrorError(
                mirror_records.RECORD_WITHOUT_SEQUENCE,
                topic=topic,
                partition=partition,
                offset=offset,
                why=why,
            )
        return MirrorError(
            mirror_records.RECORD,
            topic=topic,
            partition=partition,
            offset=offset,
            seq=self.seq.unpack(),
            why=why,
        )


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """The content of a batch for one partition and one schema id."""

    topic: str
    partition: int
    schema_id: str
    records: int
    changes: int  # without tombstones
    rows: int  # changes to one row: without tombstones and truncates
    lowest: PackedSequence | None  # of the changes
    highest: PackedSequence | None
    highest_row: PackedSequence | None  # of the changes to one row
    truncated: PackedSequence | None  # of the latest `t`
    keyless: RecordPosition | None  # the first row without a key


def summarize(records: DataFrame) -> list[PartitionSummary]:
    """Count the typed `records` of a batch.

    Raises MirrorError for the first record, by topic, partition and offset, with a problem.
    """
    position = F.struct("offset", "hi", "lo", "problem")
    seq = F.struct("hi", "lo")
    is_row = F.col("op").isin(*ROW_OPS)
    rows = (
        records.groupBy("topic", "partition", "schema_id")
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.count("op").alias("changes"),
            F.count(F.when(is_row, 1)).alias("rows"),
            F.min(F.when(F.col("op").isNotNull(), seq)).alias("lowest"),
            F.max(F.when(F.col("op").isNotNull(), seq)).alias("highest"),
            F.max(F.when(is_row, seq)).alias("highest_row"),
            F.max(F.when(F.col("op") == OP_TRUNCATE, seq)).alias("truncated"),
            F.min(F.when(is_row & F.col("key").isNull(), position)).alias("keyless"),
            F.min(F.when(F.col("problem").isNotNull(), position)).alias("corrupt"),
        )
        .collect()
    )
    corrupt = [row for row in rows if row["corrupt"] is not None]
    if corrupt:
        first = min(corrupt, key=lambda row: (row["topic"], row["partition"], row["corrupt"][0]))
        raise _position(first, "corrupt").corrupt(_PROBLEMS[first["corrupt"]["problem"]])
    return [
        PartitionSummary(
            topic=row["topic"],
            partition=row["partition"],
            schema_id=row["schema_id"],
            records=row["records"],
            changes=row["changes"],
            rows=row["rows"],
            lowest=_packed(row["lowest"]),
            highest=_packed(row["highest"]),
            highest_row=_packed(row["highest_row"]),
            truncated=_packed(row["truncated"]),
            keyless=None if row["keyless"] is None else _position(row, "keyless"),
        )
        for row in rows
    ]


def _header(name: str, index: int) -> Column:
    """Return the text of the header with that name, NULL without one.

    The connector writes it at `index`. To look there first is ten times as fast as a search.
    """
    expected = F.get("headers", F.lit(index))
    matching = F.filter("headers", lambda header: header["key"] == name)
    value = F.when(expected["key"] == name, expected["value"])
    return value.otherwise(F.get(matching, F.lit(0))["value"]).cast("string")


def _packed(row: Row | None) -> PackedSequence | None:
    if row is None or row["hi"] is None:
        return None
    return PackedSequence(row["hi"], row["lo"])


def _position(row: Row, column: str) -> RecordPosition:
    found = row[column]
    return RecordPosition(row["topic"], row["partition"], found["offset"], _packed(found))
