"""The streaming query of the job: offset ranges in, a call for each batch out, and its events.

PySpark's listener asks the JVM for each field of an event, and for each entry of its maps. That
takes some hundred calls, and an exception at the end of each map: 0.2 s of CPU for each batch.
The listener here takes two calls for a batch.

https://spark.apache.org/docs/latest/api/java/org/apache/spark/sql/streaming/StreamingQueryListener.html
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from stream_jobs.run.assembly import mirror_offsets
from stream_jobs.settings import Settings
from stream_jobs.source.offset_stream import RangePartition, read_ranges_stream
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.table_options import TableOptionsResolver

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
    from pyspark.sql.streaming.listener import StreamingQueryListener
    from pyspark.sql.streaming.query import StreamingQuery


_MS = 1000


def ranges_of(batch: DataFrame) -> list[OffsetRange]:
    """Return the ranges of a batch, which its plan has.

    To collect them as rows takes a Spark job with a Python worker, a third of a small batch's time.
    """
    jvm_plan: Any = batch._jdf.queryExecution().logical()  # noqa: SLF001  # PySpark has no other way
    ranges: list[OffsetRange] = []
    for task in jvm_plan.rdd().partitions():
        packed = bytes(task.inputPartition().get().pickedPartition())
        partition = pickle.loads(packed)  # noqa: S301  # the job's own process has written it
        assert isinstance(partition, RangePartition)
        ranges += partition.ranges
    return ranges


def start_query(
    session: SparkSession,
    settings: Settings,
    checkpoint: str,
    secret: str,
    apply: Callable[[DataFrame, int], None],
) -> StreamingQuery:
    """Start the query with its `checkpoint`; `apply` gets each batch, and its number.

    Errors of the source carry `secret`: then the job trusts what they say.
    """
    kafka, trigger = settings.kafka, settings.trigger
    writer = (
        read_ranges_stream(
            session,
            kafka.facts(),
            kafka.topic_prefix,
            kafka.max_offsets_per_trigger,
            secret,
            TableOptionsResolver.of_settings(settings).skipped,
            mirror_offsets(settings),
        )
        .writeStream.foreachBatch(apply)
        .option("checkpointLocation", checkpoint)
    )
    if trigger.kind == "availableNow":
        writer = writer.trigger(availableNow=True)
    else:
        interval = round(trigger.interval_seconds * _MS)
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    return writer.start()


class QueryListener:
    """Is told what happens; Spark calls it in order, in its own thread, after the query."""

    def on_progress(self, batch_id: int, end_offsets: Callable[[], str | None]) -> None:
        """Note that a batch is committed.

        `end_offsets` asks for the offsets of all topics: JSON, null or None without topics.
        """
        raise NotImplementedError

    def on_idle(self) -> None:
        """Note that there is nothing new."""
        raise NotImplementedError

    def on_end(self) -> None:
        """Note that the query has ended."""
        raise NotImplementedError


@contextmanager
def query_listener(session: SparkSession, events: QueryListener) -> Iterator[None]:
    """Tell `events` of the queries that are started within a block."""
    # Spark's manager of streams asks a listener for nothing but its Java object.
    listener = cast("StreamingQueryListener", _Listener(events))
    session.streams.addListener(listener)
    try:
        yield
    finally:
        session.streams.removeListener(listener)


class _Listener:
    def __init__(self, events: QueryListener) -> None:
        self._events = events

    @cached_property
    def _jlistener(self) -> JavaObject:
        jvm = SparkContext._jvm  # noqa: SLF001 - PySpark's own listeners get their object so
        assert jvm is not None
        return jvm.PythonStreamingQueryListenerWrapper(_Callbacks(self._events))


class _Callbacks:
    """The methods that the JVM calls."""

    def __init__(self, events: QueryListener) -> None:
        self._events = events

    def onQueryStarted(self, event: JavaObject) -> None:  # noqa: N802 - Java's name
        """Do nothing: the job itself reports its start."""

    def onQueryProgress(self, event: JavaObject) -> None:  # noqa: N802 - Java's name
        progress: Any = event.progress()
        self._events.on_progress(progress.batchId(), progress.sources()[0].endOffset)

    def onQueryIdle(self, event: JavaObject) -> None:  # noqa: N802 - Java's name
        del event
        self._events.on_idle()

    def onQueryTerminated(self, event: JavaObject) -> None:  # noqa: N802 - Java's name
        del event
        self._events.on_end()

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
