"""The stream of offset ranges: what Structured Streaming reads, keeps and commits.

A row is a range of offsets of one partition, not a record: the records are read where they are
applied. Spark keeps the offsets `{topic: {partition: offset}}` in its checkpoint, cuts batches,
and repeats a batch that was not committed.

Spark starts some processes that load this module but read nothing. So it imports the Kafka client
only where the client is used; otherwise these processes would take twice as long.

The stream runs in a process of its own, and Spark passes only the text of an exception to the
driver. So `SerializedError` puts the error's code and facts into the text, after a secret that
both processes share: nobody else can write what the driver unpickles. `error_message` reads it.

That process hears of the end of the JVM when it reads the next request. But it may wait for records
until then, and take over a log in a folder from the processes that have ended. So it also looks
whether its parent is there.

https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_data_source.html
"""

from __future__ import annotations

import base64
import math
import os
import pickle
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import datasource

from connector.foundation.errors import ConnectorError
from connector.foundation.errors.message import Message
from stream_jobs.errors import job_errors
from stream_jobs.source import topics
from stream_jobs.source.topic_filter import NO_SKIPPED_TABLES, SkippedTables, TopicFilter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from stream_jobs.source.client import KafkaClient

    Begin = Callable[[KafkaClient, Iterable[str]], topics.Offsets]


_PACKED: Final = "([A-Za-z0-9+/=]+)"


class SerializedError(Exception):
    """An error of the product, written so that `carried_by` finds it in any text."""

    def __init__(self, error: ConnectorError, secret: str) -> None:
        packed = base64.b64encode(pickle.dumps(error)).decode()
        super().__init__(f"{error} {secret}:{packed}")


def deserialize_error(text: str, secret: str) -> ConnectorError | None:
    """Return the error that a text carries; None if it carries none."""
    match = re.search(f"{secret}:{_PACKED}", text)
    if match is None:
        return None
    error = pickle.loads(base64.b64decode(match[1]))  # noqa: S301  # only the job knows the secret
    return error if isinstance(error, ConnectorError) else None


# What PythonWorkerFactory of Spark says of a process that has not connected within ten seconds.
_WORKER_LATE: Final = "Python worker failed to connect back"
FORMAT: Final = "binlog_connector_ranges"
RANGE_COLUMNS: Final = "topic STRING, partition INT, start BIGINT, end BIGINT"

# While there is nothing new, Spark asks again at once. The brokers answer when there is something,
# or after this time; after the longer one if there was nothing before: Spark and this process
# exchange the offsets of all topics each time.
_WAIT_SECONDS: Final = 1.0
_LONG_WAIT_SECONDS: Final = 5.0
# How often the process of a stream looks for its parent.
_PARENT_SECONDS: Final = 0.5
# Topics are looked for this often while there are changes; a batch of known ones does not wait for
# that. While there are none, a new table is noticed by its record in the schema topic.
_DISCOVERY_SECONDS: Final = 1.0
_IDLE_DISCOVERY_SECONDS: Final = 10.0
# A list of ten thousand topics takes long to read: these parts of the time at most, but once in so
# many seconds.
_DISCOVERY_PART: Final = 1 / 20
_IDLE_DISCOVERY_PART: Final = 1 / 300
_DISCOVERY_SECONDS_MAX: Final = 60.0


def _nowhere(client: KafkaClient, names: Iterable[str]) -> topics.Offsets:
    """Return no offsets: all topics are read as a whole."""
    del client, names
    return {}


class _PickledBegin:
    """A function that finds offsets, loaded where it is called.

    Three processes get the data source, one after another, and its settings and storages would take
    each of them as long to import as Spark itself. One of them calls it, once for a checkpoint.
    """

    def __init__(self, begin: Begin) -> None:
        self._pickled = pickle.dumps(begin)

    def __call__(self, client: KafkaClient, names: Iterable[str]) -> topics.Offsets:
        begin: Begin = pickle.loads(self._pickled)  # noqa: S301  # from the constructor
        return begin(client, names)


class RangePartition(InputPartition):
    """All ranges of a batch. The driver takes them from here, without a task of Spark."""

    def __init__(self, ranges: list[topics.OffsetRange]) -> None:
        super().__init__(None)
        self.ranges = ranges


class RangeStreamReader(DataSourceStreamReader, datasource.SupportsTriggerAvailableNow):
    """Tells Spark how far the topics go."""

    def __init__(
        self,
        facts: topics.BrokerConfig,
        prefix: str,
        max_offsets: int,
        secret: str,
        skipped: SkippedTables = NO_SKIPPED_TABLES,
        begin: Begin = _nowhere,
    ) -> None:
        """Read `<prefix>.<database>.<table>` and `<prefix>.schema`, at most `max_offsets` a batch.

        Topics of `skipped` tables are left out. Errors are raised as SerializedError with `secret`.
        A new checkpoint starts at what `begin` returns.
        """
        self._facts = facts
        self._prefix = prefix
        self._filter = TopicFilter(prefix, skipped)
        self._max_offsets = max_offsets
        self._secret = secret
        self._begin = begin
        self._client: KafkaClient | None = None
        self._topics: dict[str, int] = {}
        self._looked_at = -math.inf
        # How long it took to look for topics.
        self._discovery_seconds = 0.0
        # Where a batch would begin, and the ends of the topics, while nothing is after them; and
        # how long their records are waited for.
        self._idle: tuple[topics.Offsets, topics.Offsets] | None = None
        self._wait_seconds = _WAIT_SECONDS
        # With Trigger.AvailableNow, where the query ends.
        self._target: topics.Offsets | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the task does not need to which the reader is sent."""
        return self.__dict__ | {"_client": None, "_begin": _nowhere}

    def initialOffset(self) -> topics.Offsets:  # noqa: N802  # Spark's name
        """Return where a new checkpoint begins; topics that are not there are read as a whole."""
        with _carrying(self._secret):
            client = self._connected()
            return self._begin(client, topics.row_topics(self._prefix, client.partition_counts()))

    def getDefaultReadLimit(self) -> datasource.ReadLimit:  # noqa: N802  # Spark's name
        """Return the limit of a batch."""
        return datasource.ReadMaxRows(self._max_offsets)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Keep the ends of the topics: the query stops there."""
        with _carrying(self._secret):
            self._target = self._ends()

    def latestOffset(self, start: topics.Offsets, limit: datasource.ReadLimit) -> topics.Offsets:  # noqa: N802  # Spark's
        """Return the end of the next batch."""
        with _carrying(self._secret):
            if self._idle is not None and self._idle[0] == start and self._is_quiet(self._idle[1]):
                return start
            ends = self._ends() if self._target is None else self._target
            if self._target is None and not _is_after(ends, start):
                self._idle, self._wait_seconds = (start, ends), _WAIT_SECONDS
                if self._is_quiet(ends):
                    return start
                ends = self._ends()
            begun = self._with_first(start or {}, ends)
            if isinstance(limit, datasource.ReadAllAvailable):
                return topics.advance_offsets(begun, ends)
            return topics.limit_offsets(begun, ends, self._max_offsets)

    def partitions(self, start: topics.Offsets, end: topics.Offsets) -> list[RangePartition]:
        """Return the ranges of the topics with new records, with all of their partitions."""
        with _carrying(self._secret):
            begun = self._with_first(start or {}, end)
        ranges = [
            topics.OffsetRange(topic, int(number), begun[topic][number], offset)
            for topic, offsets in end.items()
            if offsets != (start or {}).get(topic)
            for number, offset in offsets.items()
        ]
        return [RangePartition(ranges)] if ranges else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int, int]]:
        """Yield the rows of a batch."""
        assert isinstance(partition, RangePartition)
        yield from partition.ranges

    def _connected(self) -> KafkaClient:
        from stream_jobs.source.client import KafkaClient  # noqa: PLC0415 - see above

        if self._client is None:
            self._client = KafkaClient(self._facts)
        return self._client

    def _ends(self) -> topics.Offsets:
        client = self._connected()
        began = time.monotonic()
        if began - self._looked_at >= self._due(_DISCOVERY_SECONDS, _DISCOVERY_PART):
            counts = client.partition_counts()
            known = topics.row_topics(self._prefix, counts)
            self._topics = self._filter.without_skipped(client, known)
            schemas = topics.schema_topic(self._prefix)
            if schemas in counts:
                self._topics[schemas] = counts[schemas]
            self._looked_at = time.monotonic()
            self._discovery_seconds = self._looked_at - began
        return topics.nest_offsets(
            client.end_offsets(
                (topic, n) for topic, count in self._topics.items() for n in range(count)
            )
        )

    def _due(self, seconds: float, part: float) -> float:
        """Return after how many seconds topics are looked for again, which takes `part` of them."""
        return min(max(seconds, self._discovery_seconds / part), _DISCOVERY_SECONDS_MAX)

    def _is_quiet(self, ends: topics.Offsets) -> bool:
        """Wait until there is something after `ends`; return whether there is nothing.

        When topics are due to be looked for, there may be something.
        """
        positions = {
            (topic, int(number)): offset
            for topic, offsets in ends.items()
            for number, offset in offsets.items()
        }
        if not positions:
            time.sleep(_WAIT_SECONDS)
        elif not self._connected().wait(positions, self._wait_seconds):
            # A broker that answers later counts as dead.
            self._wait_seconds = min(_LONG_WAIT_SECONDS, self._facts.timeout_seconds / 2)
            due = self._due(_IDLE_DISCOVERY_SECONDS, _IDLE_DISCOVERY_PART)
            return time.monotonic() - self._looked_at < due
        self._idle, self._looked_at = None, -math.inf
        return False

    def _with_first(self, start: topics.Offsets, ends: topics.Offsets) -> topics.Offsets:
        """Return `start` with the first offsets of the partitions that it does not have."""
        new = [
            (topic, int(number))
            for topic, offsets in ends.items()
            for number in offsets
            if number not in start.get(topic, {})
        ]
        first = topics.nest_offsets(self._connected().first_offsets(new)) if new else {}
        return {topic: first.get(topic, {}) | start.get(topic, {}) for topic in {**first, **start}}


def _is_after(ends: topics.Offsets, start: topics.Offsets) -> bool:
    """Return whether there is a record after `start`, which may have other topics, too."""
    return any((start or {}).get(topic) != offsets for topic, offsets in ends.items())


def read_ranges_stream(
    session: SparkSession,
    facts: topics.BrokerConfig,
    prefix: str,
    max_offsets: int,
    secret: str,
    skipped: SkippedTables,
    begin: Begin,
) -> DataFrame:
    """Return the stream of ranges; its errors are CarriedErrors with `secret`.

    The data source is a class of this call: its options would be text in plans and in logs, and
    `facts` may have a password.
    """
    pickled = _PickledBegin(begin)

    class OffsetRanges(DataSource):
        @classmethod
        def name(cls) -> str:
            return FORMAT

        def schema(self) -> str:
            return RANGE_COLUMNS

        def streamReader(self, schema: StructType) -> RangeStreamReader:  # noqa: N802  # Spark's name
            del schema
            end_with_parent()
            return RangeStreamReader(facts, prefix, max_offsets, secret, skipped, pickled)

    session.dataSource.register(OffsetRanges)
    return session.readStream.format(FORMAT).load()


def end_with_parent() -> None:
    """End this process soon after its parent: as if killed, with whatever it does."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_SECONDS)
        os._exit(0)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()


@contextmanager
def _carrying(secret: str) -> Iterator[None]:
    try:
        yield
    except ConnectorError as error:
        raise SerializedError(error, secret) from error


def error_message(error: BaseException, secret: str = "") -> Message:
    """Return the message of an error; of Spark's errors without plans and stack traces.

    With a `secret`, a Spark error may carry an error of the product.
    """
    if isinstance(error, ConnectorError):
        return error.message
    carried = deserialize_error(str(error), secret) if secret else None
    if carried is not None:
        return carried.message
    text = re.split(r"\s*(?:SQLSTATE: \w+|=== Streaming Query|JVM stacktrace:)", str(error))[0]
    if _WORKER_LATE in text:
        return Message(job_errors.WORKER_LATE, {})
    return Message(job_errors.SPARK_FAILED, {"kind": type(error).__name__, "said": text})
