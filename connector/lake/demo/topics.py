"""Reads the topics as a consumer with `read_committed`: progress, ends, and every record.

Each change must occur once. Records of a table, except tombstones, have a unique sequence, and the
sequences rise in each partition. A tombstone repeats the sequence of its delete.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from connector.foundation import contract, control_records
from connector.foundation.settings.sections import KafkaSettings
from connector.lake.demo import demo_errors
from connector.stream.sink.connection import consumer_settings
from local_stack.stack_errors import LocalStackError

# By topic and partition.
Offsets = dict[str, dict[int, int]]

POLL_MS = 200
# Polls without a record although more records must follow.
IDLE_POLLS_MAX = 50
PROBLEMS_SHOWN_MAX = 5


@dataclass(slots=True)
class TopicCheck:
    """The result of reading a topic from start to end."""

    topic: str
    records: int = 0  # of changes, without tombstones
    copied: int = 0  # of rows that were read at the start
    problem_count: int = 0
    problems: list[str] = field(default_factory=list)  # the first ones

    def add_problem(self, problem: str) -> None:
        """Count a problem, and keep it if it is among the first."""
        self.problem_count += 1
        if self.problem_count <= PROBLEMS_SHOWN_MAX:
            self.problems.append(f"{self.topic}{problem}")


class TopicReader:
    """Reads the topics of one pipeline; a context manager closes it."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        """Read from the broker or the folder `bootstrap`.

        Raises LocalStackError if it does not answer.
        """
        self._prefix = prefix
        self._progress_partition = TopicPartition(f"{prefix}.{contract.PROGRESS_TOPIC_SUFFIX}", 0)
        self._last_progress: dict[str, control_records.ProgressRecord] = {}
        settings = KafkaSettings(bootstrap_servers=[bootstrap], topic_prefix=prefix)
        try:
            self._progress, self._rows, self._uncommitted = (
                KafkaConsumer(
                    **consumer_settings(settings)
                    | {"isolation_level": isolation_level, "auto_offset_reset": "earliest"}
                )
                for isolation_level in ("read_committed", "read_committed", "read_uncommitted")
            )
        except KafkaError as error:
            raise LocalStackError(demo_errors.KAFKA_AWAY, address=bootstrap, said=error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for consumer in (self._progress, self._rows, self._uncommitted):
            consumer.close()

    def progress(self, pipeline: str) -> control_records.ProgressRecord | None:
        """Return the last committed progress of `pipeline`; None without any."""
        partition, consumer = self._progress_partition, self._progress
        if not consumer.partitions_for_topic(partition.topic):
            return None
        if partition not in consumer.assignment():
            consumer.assign([partition])
            consumer.seek_to_beginning(partition)
        for record in self._read(consumer, partition):
            if record.value is not None:
                self._last_progress[record.key.decode()] = json.loads(record.value)
        return self._last_progress.get(pipeline)

    def ends(self, database: str, tables: Sequence[str]) -> Offsets:
        """Return the ends of the tables' topics: the offsets after the last written record.

        They include transactions whose commit is accepted, but not yet written to each partition:
        their progress may be visible before their rows.
        """
        offsets: Offsets = {}
        for table in tables:
            partitions = self._partitions(contract.row_topic(self._prefix, database, table))
            for partition, end in self._uncommitted.end_offsets(partitions).items():
                offsets.setdefault(partition.topic, {})[partition.partition] = end
        return offsets

    def check(self, database: str, tables: Sequence[str]) -> dict[str, TopicCheck]:
        """Read the topics of the tables from start to end; return the results by table."""
        seen: set[bytes] = set()
        checks = {}
        for table in tables:
            check = checks[table] = TopicCheck(contract.row_topic(self._prefix, database, table))
            for partition in self._partitions(check.topic):
                self._check_partition(check, partition, seen)
        return checks

    def _check_partition(
        self, check: TopicCheck, partition: TopicPartition, seen: set[bytes]
    ) -> None:
        last = b""
        self._rows.assign([partition])
        self._rows.seek_to_beginning(partition)
        for record in self._read(self._rows, partition):
            record_name = f"[{partition.partition}]@{record.offset}"
            sequence = dict(record.headers).get(contract.HEADER_SEQ)
            if sequence is None:
                check.add_problem(f"{record_name} has no header {contract.HEADER_SEQ}")
                continue
            if record.value is None:
                if sequence != last:
                    check.add_problem(
                        f"{record_name} is a tombstone that does not follow its delete"
                    )
                continue
            op = dict(record.headers).get(contract.HEADER_OP, b"").decode()
            if op == contract.OP_READ:
                check.copied += 1
            elif op != contract.OP_TRUNCATE:
                check.records += 1
            if sequence in seen:
                check.add_problem(f"{record_name} has a sequence that was there before")
            elif sequence < last:
                check.add_problem(f"{record_name} has a lower sequence than the record before it")
            seen.add(sequence)
            last = sequence

    def _partitions(self, topic: str) -> list[TopicPartition]:
        numbers = self._rows.partitions_for_topic(topic) or set()
        return [TopicPartition(topic, number) for number in sorted(numbers)]

    def _read(self, consumer: KafkaConsumer, partition: TopicPartition) -> Iterator[Any]:
        """Yield the committed records from the consumer's position to the current end."""
        (end,) = consumer.end_offsets([partition]).values()
        idle_polls = 0
        while (position := consumer.position(partition)) < end:
            yield from consumer.poll(timeout_ms=POLL_MS).get(partition, [])
            # Markers and aborted records move the position, but are not returned.
            idle_polls = idle_polls + 1 if consumer.position(partition) == position else 0
            if idle_polls > IDLE_POLLS_MAX:
                raise LocalStackError(demo_errors.KAFKA_STUCK, topic=partition.topic, end=end)
