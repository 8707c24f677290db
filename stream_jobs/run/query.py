"""The streaming query of the job: ranges of offsets in, a call for each batch out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_jobs.choices.table_choices import TableChoices
from stream_jobs.run.assembly import kept_offsets, own_checkpoint
from stream_jobs.source.ranges import OffsetRange
from stream_jobs.source.stream import read_ranges_stream
from stream_jobs.spark.checkpoint import drop_remains

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from stream_jobs.settings import Settings

_MS = 1000


def checkpoint_of(settings: Settings) -> str:
    """Return where Spark keeps the offsets of the query."""
    return settings.mirror.checkpoint or own_checkpoint(settings)


def ranges_of(batch: DataFrame) -> list[OffsetRange]:
    """Return the rows of a batch."""
    return [OffsetRange(*row) for row in batch.collect()]


def start_query(
    session: SparkSession,
    settings: Settings,
    secret: str,
    apply: Callable[[DataFrame, int], None],
) -> StreamingQuery:
    """Start the query; `apply` gets each batch, and its number.

    Errors of the source carry `secret`: then the job trusts what they say.
    """
    kafka, trigger = settings.kafka, settings.trigger
    drop_remains(session, checkpoint_of(settings))
    writer = (
        read_ranges_stream(
            session,
            kafka.facts(),
            kafka.topic_prefix,
            kafka.max_offsets_per_trigger,
            secret,
            TableChoices.of_settings(settings).skipped,
            kept_offsets(settings),
        )
        .writeStream.foreachBatch(apply)
        .option("checkpointLocation", checkpoint_of(settings))
    )
    if trigger.kind == "availableNow":
        writer = writer.trigger(availableNow=True)
    else:
        interval = round(trigger.interval_seconds * _MS)
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    return writer.start()
