"""Applies one micro-batch to the tables; foreachBatch calls it.

    records ─▶ summary ─▶ mirrors ready ─▶ for each table, in parallel:   ─▶ positions
               (1 job)    (DDL, floors)    latest, typed, checked, merged     (last)

After a crash at any point, Spark runs the same batch again, and every step can be repeated:
columns that exist are not added again, floors delete the same rows, merges compare sequences row by
row, and positions are replaced by the same positions.

Spark's transaction identifiers make this cheap: if the merge of a table is already committed, it is
skipped. The identifier contains the checkpoint, so a new checkpoint, whose batch numbers restart,
skips nothing. Only merges have it, one commit for each table and batch, because Delta silently
skips a second commit with the same version.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import StorageLevel, inheritable_thread_target
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

from connector.contract import OP_DELETE
from connector.errors import mirror_records
from connector.errors.message import Message
from stream_jobs.latest_changes import (
    OP,
    POSITION,
    PROBLEM,
    SOURCE_TS_MS,
    SUPERSEDED,
    latest_changes,
    typed_changes,
)
from stream_jobs.mirrors import TableRows
from stream_jobs.problems import Problems
from stream_jobs.records import RecordPosition, summarize, typed_records
from stream_jobs.sequence import HI, LO, PackedSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

    from stream_jobs.mirrors import Mirrors, ReadyTable
    from stream_jobs.positions import Positions
    from stream_jobs.records import PartitionSummary
    from stream_jobs.settings import Settings

_TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION = "spark.databricks.delta.write.txnVersion"


@dataclass(frozen=True, slots=True)
class TableReport:
    """The result of a batch for one table."""

    changes: int  # records of the batch, without tombstones
    upserts: int  # keys whose last change is an insert or an update
    deletes: int  # keys whose last change is a delete
    skipped: int  # changes that were applied before, are below a floor, or have no mirror
    source_ts_ms: int | None  # when the source committed the latest of the applied changes


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The result of a batch."""

    seconds: float
    records: int  # including tombstones
    tables: dict[str, TableReport]  # by `database.table`
    keyless_topics: list[str]  # topics of tables without a mirror


class BatchApplier:
    """Applies the micro-batches of one stream to the mirrors."""

    def __init__(self, settings: Settings, mirrors: Mirrors, positions: Positions) -> None:
        """Apply to `mirrors`, continuing after `positions`."""
        self._settings = settings
        self._mirrors = mirrors
        self._positions = positions

    def apply(self, kafka: DataFrame, batch_id: int, checkpoint_id: str) -> BatchReport:
        """Apply a batch of Kafka records completely, or raise.

        `checkpoint_id` is unique to the stream's checkpoint. Raises MirrorError if the batch cannot
        be applied; then its positions are not stored.
        """
        began = time.monotonic()
        session = kafka.sparkSession
        with _persisted(typed_records(kafka)) as records:
            batch = summarize(records)
            if self._settings.kafka.added_partitions == "accept":
                self._positions.accept_partitions(batch)
            self._positions.refuse_added_partitions(batch)
            raised = self._positions.raise_floors(batch)
            ready: dict[str, ReadyTable] = {}
            for topic in sorted({part.topic for part in batch}):
                rows = self._rows(topic, batch, floor_is_new=topic in raised)
                ready[topic] = self._mirrors.prepare(session, rows)
            with _transaction(session, f"{self._settings.name}/{checkpoint_id}", batch_id):
                reports = self._merge_all(session, records, batch, ready)
        if any(part.highest is not None for part in batch):
            self._positions.advance(session, batch)
        return BatchReport(
            seconds=time.monotonic() - began,
            records=sum(part.records for part in batch),
            tables=reports,
            keyless_topics=[topic for topic, table in ready.items() if not table.schema.key],
        )

    def _rows(self, topic: str, batch: list[PartitionSummary], *, floor_is_new: bool) -> TableRows:
        parts = [part for part in batch if part.topic == topic]
        highest: dict[str, PackedSequence] = {}
        for part in parts:
            row, bound = part.highest_row, self._positions.applied(topic, part.partition)
            if row is not None and (bound is None or row > bound):
                highest[part.schema_id] = max(row, highest.get(part.schema_id, row))
        schema_ids = frozenset(part.schema_id for part in parts)
        return TableRows(
            topic,
            schema_ids,
            highest,
            self._positions.floor(topic),
            floor_is_new,
            self._positions.has_rows(topic),
        )

    def _merge_all(
        self,
        session: SparkSession,
        records: DataFrame,
        batch: list[PartitionSummary],
        ready: dict[str, ReadyTable],
    ) -> dict[str, TableReport]:
        """Merge each table in its own thread; after a failure, the other merges end first."""

        def merge(topic: str) -> TableReport:
            # FAIR scheduling is between pools: a large table does not delay the small ones.
            session.sparkContext.setLocalProperty("spark.scheduler.pool", topic)
            parts = [part for part in batch if part.topic == topic]
            stale = self._positions.stale(topic, parts)
            return self._merge(records, parts, ready[topic], stale)

        with ThreadPoolExecutor(self._settings.mirror.tables_in_parallel) as pool:
            # Each call has the stream's job group in its thread.
            futures = {
                topic: pool.submit(inheritable_thread_target(session)(merge), topic)
                for topic in ready
            }
        return {ready[topic].schema.name: future.result() for topic, future in futures.items()}

    def _merge(
        self,
        records: DataFrame,
        parts: list[PartitionSummary],
        table: ReadyTable,
        stale: Column | None,
    ) -> TableReport:
        changes = sum(part.changes for part in parts)
        if table.mirror is None:
            return TableReport(changes, 0, 0, changes, None)
        keyless = next((part.keyless for part in parts if part.keyless is not None), None)
        if keyless is not None:
            raise keyless.corrupt(Message(mirror_records.NO_KEY, {}))
        if not table.parses:
            return TableReport(changes, 0, 0, sum(part.rows for part in parts), None)
        topic = parts[0].topic
        problems = Problems()
        typed = typed_changes(
            latest_changes(records, topic, stale),
            table.schema,
            table.parses,
            self._settings.mirror.zero_dates,
            problems,
        )
        # The job that counts it also keeps it. Not `persist`: Delta refuses a cached merge source,
        # which could be evicted between its two readings; a checkpoint cannot.
        winners = typed.localCheckpoint(eager=False)
        totals = winners.agg(
            F.count(F.when(F.col(OP) != OP_DELETE, 1)).alias("upserts"),
            F.count(F.when(F.col(OP) == OP_DELETE, 1)).alias("deletes"),
            F.sum(SUPERSEDED).alias("applied"),
            F.max(SOURCE_TS_MS).alias("source_ts_ms"),
            F.min(F.when(F.col(PROBLEM).isNotNull(), F.struct(POSITION, HI, LO, PROBLEM))).alias(
                "problem"
            ),
        ).collect()[0]
        problem = totals["problem"]
        if problem is not None:
            position = RecordPosition(
                topic,
                problem[POSITION]["partition"],
                problem[POSITION]["offset"],
                PackedSequence(problem[HI], problem[LO]),
            )
            raise position.corrupt(problems[problem[PROBLEM]])
        applied = totals["applied"] or 0
        if applied:
            table.mirror.merge(winners, table.schema)
        return TableReport(
            changes=changes,
            upserts=totals["upserts"],
            deletes=totals["deletes"],
            skipped=sum(part.rows for part in parts) - applied,
            source_ts_ms=totals["source_ts_ms"],
        )


@contextmanager
def _persisted(data: DataFrame) -> Iterator[DataFrame]:
    data.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield data
    finally:
        data.unpersist()


@contextmanager
def _transaction(session: SparkSession, app_id: str, version: int) -> Iterator[None]:
    """Mark the commits of this session as `version` of `app_id`."""
    session.conf.set(_TXN_APP_ID, app_id)
    session.conf.set(_TXN_VERSION, version)
    try:
        yield
    finally:
        session.conf.unset(_TXN_APP_ID)
        session.conf.unset(_TXN_VERSION)
