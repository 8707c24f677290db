"""What happens to a query of Spark, told to Python.

The listener of PySpark asks the JVM for each field of an event, and for each entry of its maps.
That takes some hundred calls, and an exception at the end of each map: 0.2 s of CPU for each batch.
Here, a batch takes five calls.

https://spark.apache.org/docs/latest/api/java/org/apache/spark/sql/streaming/StreamingQueryListener.html
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pyspark import SparkContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from py4j.java_gateway import JavaObject  # type: ignore[import-untyped] # it has no types
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryListener


class QueryEvents:
    """Is told what happens; Spark calls it in order, in its own thread, after the query."""

    def on_progress(self, batch_id: int, end_offsets: str | None) -> None:
        """Note that a batch is committed; `end_offsets` is JSON, null or None without topics."""
        raise NotImplementedError

    def on_idle(self) -> None:
        """Note that there is nothing new."""
        raise NotImplementedError

    def on_end(self) -> None:
        """Note that the query has ended."""
        raise NotImplementedError


@contextmanager
def told(session: SparkSession, events: QueryEvents) -> Iterator[None]:
    """Tell `events` of the queries that are started within a block."""
    # Spark's manager of streams asks a listener for nothing but its Java object.
    listener = cast("StreamingQueryListener", _Listener(events))
    session.streams.addListener(listener)
    try:
        yield
    finally:
        session.streams.removeListener(listener)


class _Listener:
    def __init__(self, events: QueryEvents) -> None:
        self._events = events

    @cached_property
    def _jlistener(self) -> JavaObject:
        jvm = SparkContext._jvm  # noqa: SLF001 - PySpark's own listeners get their object so
        assert jvm is not None
        return jvm.PythonStreamingQueryListenerWrapper(_Callbacks(self._events))


class _Callbacks:
    """The methods that the JVM calls."""

    def __init__(self, events: QueryEvents) -> None:
        self._events = events

    def onQueryStarted(self, event: JavaObject) -> None:  # noqa: N802 - Java's name
        """Do nothing: the job itself reports its start."""

    def onQueryProgress(self, event: JavaObject) -> None:  # noqa: N802 - Java's name
        progress: Any = event.progress()
        self._events.on_progress(progress.batchId(), progress.sources()[0].endOffset())

    def onQueryIdle(self, event: JavaObject) -> None:  # noqa: N802 - Java's name
        del event
        self._events.on_idle()

    def onQueryTerminated(self, event: JavaObject) -> None:  # noqa: N802 - Java's name
        del event
        self._events.on_end()

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
