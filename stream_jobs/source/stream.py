"""The stream of offset ranges: what Structured Streaming reads, keeps and commits.

A row is a range of offsets of one partition, not a record: the records are read where they are
applied. Spark keeps the offsets `{topic: {partition: offset}}` in its checkpoint, cuts batches, and
repeats a batch that was not committed.

https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_data_source.html
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from connector.errors import ConnectorError
from stream_jobs.source.carried import CarriedError
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.offsets import later, limited, nested
from stream_jobs.source.ranges import OffsetRange
from stream_jobs.source.topics import row_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from stream_jobs.source.facts import KafkaFacts
    from stream_jobs.source.offsets import Offsets

FORMAT: Final = "binlog_connector_ranges"
RANGE_COLUMNS: Final = "topic STRING, partition INT, start BIGINT, end BIGINT"

# While there is nothing new, Spark asks again at once. The brokers answer when there is something,
# or after this time, in which a new topic is not noticed.
_WAIT_SECONDS: Final = 1.0
# Topics are looked for this often; a batch of known ones does not wait for that.
_DISCOVERY_SECONDS: Final = 1.0


class Ranges(InputPartition):
    """All ranges of a batch: one task of Spark returns them."""

    def __init__(self, ranges: list[OffsetRange]) -> None:
        """Hold `ranges`."""
        super().__init__(None)
        self.ranges = ranges


class RangeReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Tells Spark how far the topics go."""

    def __init__(self, facts: KafkaFacts, prefix: str, max_offsets: int, secret: str) -> None:
        """Read the topics `<prefix>.<database>.<table>`, at most `max_offsets` in a batch.

        Errors are raised as CarriedError with `secret`.
        """
        self._facts = facts
        self._prefix = prefix
        self._max_offsets = max_offsets
        self._secret = secret
        self._client: KafkaClient | None = None
        self._topics: dict[str, int] = {}
        self._looked_at = -math.inf
        # With Trigger.AvailableNow, where the query ends.
        self._target: Offsets | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the connection out: the reader is sent to the task, which does not need it."""
        return self.__dict__ | {"_client": None}

    def initialOffset(self) -> Offsets:  # noqa: N802  # Spark's name
        """Return where a new checkpoint begins: before all topics."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """Return the limit of a batch."""
        return ReadMaxRows(self._max_offsets)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Keep the ends of the topics: the query stops there."""
        with _carrying(self._secret):
            self._target = self._ends()

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802  # Spark's
        """Return the end of the next batch."""
        with _carrying(self._secret):
            ends = self._ends() if self._target is None else self._target
            if ends == start and self._target is None:
                self._wait(ends)
                ends = self._ends()
            begun = self._with_first(start or {}, ends)
            if isinstance(limit, ReadAllAvailable):
                return later(begun, ends)
            return limited(begun, ends, self._max_offsets)

    def partitions(self, start: Offsets, end: Offsets) -> list[Ranges]:
        """Return the ranges of the topics with new records, with all of their partitions."""
        with _carrying(self._secret):
            begun = self._with_first(start or {}, end)
        ranges = [
            OffsetRange(topic, int(number), begun[topic][number], offset)
            for topic, offsets in end.items()
            if offsets != (start or {}).get(topic)
            for number, offset in offsets.items()
        ]
        return [Ranges(ranges)] if ranges else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int, int]]:
        """Yield the rows of a batch."""
        assert isinstance(partition, Ranges)
        yield from partition.ranges

    def _connected(self) -> KafkaClient:
        if self._client is None:
            self._client = KafkaClient(self._facts)
        return self._client

    def _ends(self) -> Offsets:
        client = self._connected()
        if time.monotonic() - self._looked_at >= _DISCOVERY_SECONDS:
            self._topics = row_topics(self._prefix, client.partition_counts())
            self._looked_at = time.monotonic()
        return nested(
            client.end_offsets(
                (topic, n) for topic, count in self._topics.items() for n in range(count)
            )
        )

    def _wait(self, ends: Offsets) -> None:
        """Wait until there is something after `ends`."""
        positions = {
            (topic, int(number)): offset
            for topic, offsets in ends.items()
            for number, offset in offsets.items()
        }
        if positions:
            self._connected().wait(positions, _WAIT_SECONDS)
        else:
            time.sleep(_WAIT_SECONDS)

    def _with_first(self, start: Offsets, ends: Offsets) -> Offsets:
        """Return `start` with the first offsets of the partitions that it does not have."""
        new = [
            (topic, int(number))
            for topic, offsets in ends.items()
            for number in offsets
            if number not in start.get(topic, {})
        ]
        first = nested(self._connected().first_offsets(new)) if new else {}
        return {topic: first.get(topic, {}) | start.get(topic, {}) for topic in {**first, **start}}


def read_ranges_stream(
    session: SparkSession, facts: KafkaFacts, prefix: str, max_offsets: int, secret: str
) -> DataFrame:
    """Return the stream of ranges; its errors are CarriedErrors with `secret`.

    The data source is a class of this call: its options would be text in plans and in logs, and
    `facts` may have a password.
    """

    class OffsetRanges(DataSource):
        @classmethod
        def name(cls) -> str:
            return FORMAT

        def schema(self) -> str:
            return RANGE_COLUMNS

        def streamReader(self, schema: StructType) -> RangeReader:  # noqa: N802  # Spark's name
            del schema
            return RangeReader(facts, prefix, max_offsets, secret)

    session.dataSource.register(OffsetRanges)
    return session.readStream.format(FORMAT).load()


@contextmanager
def _carrying(secret: str) -> Iterator[None]:
    try:
        yield
    except ConnectorError as error:
        raise CarriedError(error, secret) from error
