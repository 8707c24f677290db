"""A `read_committed` consumer that looks at each record as it comes, and folds them into rows."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from connector.foundation.contract import (
    HEADER_OP,
    HEADER_SEQ,
    OP_CREATE,
    OP_DELETE,
    OP_READ,
    OP_TRUNCATE,
    PROGRESS_TOPIC_SUFFIX,
    SNAPSHOT_TOPIC_SUFFIX,
    control_topic,
    row_topic,
)
from tests.chaos.tables import TABLES, RowId, id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.chaos.ledger import Change

_POLL_MS = 50
_RETRY_SECONDS = 0.2
_TOLD_MAX = 20


class TopicReader:
    """Everything that the topics of one pipeline have shown so far.

    `lock` is held while a batch of records is taken in.
    """

    def __init__(self, client: Mapping[str, Any], prefix: str, database: str) -> None:
        """Read with these settings of a client the topics of a prefix and a database."""
        self._client = client
        self._prefix = prefix
        self._tables = {row_topic(prefix, database, table): table for table in TABLES}
        self._progress_topic = control_topic(prefix, PROGRESS_TOPIC_SUFFIX)
        self._copies_topic = control_topic(prefix, SNAPSHOT_TOPIC_SUFFIX)
        self.lock = threading.Condition()
        self.problems: list[str] = []  # the first ones
        self.problem_counts: Counter[str] = Counter()
        self.records = 0
        self.changes: dict[RowId, list[Change]] = defaultdict(list)
        self.marker = 0
        self.progress: dict[str, Any] = {}
        self.copies: dict[str, str] = {}  # of tables: how far they are
        self.error: Exception | None = None
        # By table and key: sequence and row.
        self._rows: dict[str, dict[int, tuple[str, dict[str, Any]]]] = defaultdict(dict)
        self._truncated_at: dict[str, str] = defaultdict(str)
        self._last_sequence: dict[TopicPartition, str] = defaultdict(str)
        self._sequences: set[str] = set()
        self._positions: dict[TopicPartition, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="topic reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows that a table must have, by what the topic says; of `keyless`, all."""
        with self.lock:
            truncated_at = self._truncated_at[table]
            rows = self._rows[table].values()
            return [row for sequence, row in rows if sequence > truncated_at]

    def has_read(self, ends: dict[TopicPartition, int]) -> bool:
        """Return whether everything before these offsets was taken in."""
        with self.lock:
            return all(self._positions.get(partition, 0) >= end for partition, end in ends.items())

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until something that was taken in makes a condition true."""
        with self.lock:
            return self.lock.wait_for(condition, seconds)

    @property
    def topics(self) -> list[str]:
        return [*self._tables, self._progress_topic, self._copies_topic]

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._consume()
            except (KafkaError, OSError):
                # Who serves the log was killed, perhaps while it was asked for the first time.
                self._stop.wait(_RETRY_SECONDS)
            except Exception as error:  # noqa: BLE001  # told where the run is watched
                self.error = error
                return

    def _consume(self) -> None:
        consumer = KafkaConsumer(
            **self._client,
            isolation_level="read_committed",
            enable_auto_commit=False,
            group_id=None,
            fetch_max_wait_ms=20,
            max_poll_records=2000,
            reconnect_backoff_max_ms=200,
            metadata_max_age_ms=2000,
            request_timeout_ms=5000,
            bootstrap_timeout_ms=5000,
        )
        try:
            while not self._stop.is_set():
                self._assign(consumer)
                if not consumer.assignment():
                    self._stop.wait(_RETRY_SECONDS)
                    continue
                batches = consumer.poll(timeout_ms=_POLL_MS)
                positions = {
                    partition: consumer.position(partition) for partition in consumer.assignment()
                }
                with self.lock:
                    for partition, records in batches.items():
                        for record in records:
                            self._take(partition, record)
                    self._positions |= positions
                    self.lock.notify_all()
        finally:
            consumer.close()

    def _assign(self, consumer: KafkaConsumer) -> None:
        """Read all partitions of the topics that there are by now, each from where it was left."""
        assigned = consumer.assignment()
        known = {partition.topic for partition in assigned}
        missing = [topic for topic in self.topics if topic not in known]
        found = {
            TopicPartition(topic, number)
            for topic in missing
            for number in consumer.partitions_for_topic(topic) or ()
        }
        if not found:
            return
        kept = {partition: consumer.position(partition) for partition in assigned}
        consumer.assign(sorted(assigned | found))
        for partition in assigned | found:
            consumer.seek(partition, kept.get(partition, self._positions.get(partition, 0)))

    def _take(self, partition: TopicPartition, record: Any) -> None:
        if partition.topic == self._progress_topic:
            if record.value is not None:
                self.progress = json.loads(record.value)
            return
        if partition.topic == self._copies_topic:
            key = record.key.decode()
            if record.value is None:
                self.copies.pop(key, None)
            else:
                self.copies[key] = json.loads(record.value)["phase"]
            return
        headers = dict(record.headers)
        sequence, op = headers[HEADER_SEQ].decode(), headers[HEADER_OP].decode()
        table, last = self._tables[partition.topic], self._last_sequence[partition]
        where = f"{table}[{partition.partition}]@{record.offset}"
        if record.value is None:
            if op != OP_DELETE or sequence != last:
                self._add("order", f"{where}: a tombstone that does not follow its delete")
            return
        self.records += 1
        if sequence <= last:
            self._add("order", f"{where}: sequence {sequence} comes behind {last}")
        if sequence in self._sequences:
            self._add("repeat", f"{where}: sequence {sequence} was there before")
        self._sequences.add(sequence)
        self._last_sequence[partition] = max(sequence, last)
        if op == OP_TRUNCATE:
            self._truncated_at[table] = max(sequence, self._truncated_at[table])
            return
        value = json.loads(record.value)
        row = value["before"] if op == OP_DELETE else value["after"]
        self._change(where, table, op, sequence, row)

    def _change(self, where: str, table: str, op: str, sequence: str, row: dict[str, Any]) -> None:
        identity, n = id_of(table, row), row["n"]
        changes = self.changes[identity]
        last_op, last_n = changes[-1] if changes else ("d", 0)
        next_n = last_n if op == OP_DELETE else last_n + 1
        what = f"{where}: row {identity.key}: {op} {n} follows {last_op} {last_n}"
        if op == OP_READ:
            # A copy of the row as it is; its changes go on from there.
            if n < last_n:
                self._add("order", what)
        elif n > next_n:
            self._add("gap", what)
        elif n < next_n or (op == OP_DELETE and last_op == OP_DELETE):
            self._add("repeat", what)
        elif op == OP_CREATE and last_op != OP_DELETE and table not in {"keyless", "scratch"}:
            self._add("order", what)
        changes.append((op, n))
        if table == "marker":
            self.marker = n
        rows = self._rows[table]
        if op == OP_DELETE:
            rows.pop(identity.key, None)
        elif table == "keyless":
            rows[len(rows)] = sequence, row
        else:
            rows[identity.key] = sequence, row

    def _add(self, kind: str, problem: str) -> None:
        self.problem_counts[kind] += 1
        if len(self.problems) < _TOLD_MAX:
            self.problems.append(f"{kind}: {problem}")
