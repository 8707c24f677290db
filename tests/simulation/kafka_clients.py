"""What stands for kafka-python: its three clients, as far as the sink uses them.

The producer keeps what it has been given in queues, and sends it when somebody waits or wakes it.
Requests and answers are on their way for a while, overtake each other, and may be lost; what was
not acknowledged is sent again, with the number that it had.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    OutOfOrderSequenceNumberError,
    SaslAuthenticationFailedError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from connector.stream.sink.clients import KafkaClients
from tests.simulation.broker import is_visible
from tests.simulation.faults import Call, Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka import TopicPartition

    from connector.foundation.record_batch import RecordBatch
    from tests.simulation.broker import Broker, PartitionId
    from tests.simulation.world import Process, World

_MS = 1000
_IN_FLIGHT_MAX = 5
_POLL_RECORDS_MAX = 64
# How often a broker does not know a topic that was created a moment ago.
_UNHEARD_OF = 0.02


def clients_of(process: Process, network: Network) -> KafkaClients:
    """Return the clients that a process opens."""

    def open_producer(
        settings: dict[str, Any], transactional_id: str, timeout_seconds: float, compression: str
    ) -> SimulatedProducer:
        del settings, compression
        return SimulatedProducer(process, network, transactional_id, timeout_seconds)

    def open_consumer(**arguments: Any) -> SimulatedConsumer:
        return SimulatedConsumer(
            process, committed=arguments["isolation_level"] == "read_committed"
        )

    def open_admin(**arguments: Any) -> SimulatedAdmin:
        del arguments
        return SimulatedAdmin(process)

    return KafkaClients(open_producer, open_consumer, open_admin)


class Network:
    """Messages between producers and the broker; they outlive the process that sent them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._messages: list[Callable[[], None]] = []

    def send(self, message: Callable[[], None]) -> None:
        """Have `message` happen at the other end, later."""
        self._messages.append(message)

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return not self._messages

    def move(self) -> None:
        """Let one message arrive, whichever; some are lost."""
        random = self._world.random
        self._world.broker.mark_one(random.randrange(1000))
        if self._messages:
            message = self._messages.pop(random.randrange(len(self._messages)))
            if random.random() * 100 >= self._world.plan.lossy_percent:
                message()


@dataclass(slots=True, eq=False)
class _Queued:
    """A batch that has not been acknowledged."""

    batch: RecordBatch
    sequence: int
    sent: bool = False
    was_sent: bool = False  # also where it has to be sent again; then an abort waits for it


@dataclass(slots=True)
class _Ending:
    """A commit that is on its way, and the batches of the next transaction."""

    fault: Fault | None
    held: list[RecordBatch] = field(default_factory=list)


class SimulatedProducer:
    """A transactional, idempotent producer."""

    def __init__(
        self, process: Process, network: Network, transactional_id: str, timeout_seconds: float
    ) -> None:
        """Take over the transactional id."""
        self._process = process
        self._broker: Broker = process.world.broker
        self._network = network
        self._queues: dict[PartitionId, list[_Queued]] = {}
        self._sequences: dict[PartitionId, int] = {}
        self._added: set[PartitionId] = set()
        self._failure: KafkaError | None = None
        self._ending: _Ending | None = None
        fault = process.step(Call.TAKE_OVER)
        if fault is Fault.REFUSED:
            raise KafkaConnectionError
        if fault is Fault.DENIED:
            raise SaslAuthenticationFailedError
        self._id, self._epoch = self._broker.take_over(transactional_id, timeout_seconds)
        if fault is Fault.LOST:
            raise _no_answer()

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of batches that were not acknowledged."""
        return sum(len(q.batch.data) for queue in self._queues.values() for q in queue)

    def partitions_for(self, topic: str) -> set[int]:
        """Return the partitions of a topic."""
        if self._process.step(Call.METADATA) is Fault.REFUSED:
            raise _no_answer()
        return set(range(len(self._broker.topics[topic])))

    def interrupt(self, error: KafkaError) -> None:
        """Nobody interrupts: no topic is deleted."""

    def deliver(self, batch: RecordBatch, in_flight_bytes_max: int) -> None:
        """Queue a batch, once there is room."""
        if self._process.step(Call.DELIVER) is Fault.REFUSED:
            raise self._fail(_no_answer())
        self._raise_failure()
        ending = self._ending
        if ending is not None:
            size = self.in_flight_bytes + sum(len(held.data) for held in ending.held)
            if size + len(batch.data) <= in_flight_bytes_max:
                ending.held.append(batch)
                return
            self.finish_commit()
        while (flying := self.in_flight_bytes) and flying + len(batch.data) > in_flight_bytes_max:
            self._work()
            self._raise_failure()
        self._queue(batch)

    def _queue(self, batch: RecordBatch) -> None:
        partition_id = batch.topic, batch.partition
        if partition_id not in self._added:
            try:
                self._broker.add_partition(self._id, self._epoch, partition_id)
            except KafkaError as error:
                raise self._fail(error) from error
            self._added.add(partition_id)
        sequence = self._sequences.get(partition_id, 0)
        self._sequences[partition_id] = sequence + batch.count
        self._queues.setdefault(partition_id, []).append(_Queued(batch, sequence))

    def wake(self) -> None:
        """Send what is queued, or a part of it; maybe the commit before has to end first."""
        if self._process.step(Call.WAKE) is Fault.REFUSED:
            raise self._fail(_no_answer())
        random = self._process.world.random
        if random.random() < 0.5:
            self.finish_commit()
        for _ in range(random.randrange(4)):
            self._work()
        self._raise_failure()

    @property
    def is_committing(self) -> bool:
        """Whether a commit was left for later."""
        return self._ending is not None

    def start_commit(self) -> None:
        """Commit at once, or leave that for later."""
        fault = self._process.step(Call.COMMIT)
        if self._process.world.random.random() < 0.5:
            self._end(fault, commit=True)
        else:
            self._ending = _Ending(fault)

    def finish_commit(self) -> None:
        """Commit what was left for later; then the next transaction begins."""
        ending, self._ending = self._ending, None
        if ending is not None:
            self._end(ending.fault, commit=True)
            for batch in ending.held:
                self._queue(batch)

    def abort_transaction(self) -> None:
        """Abort; what was not sent is not sent any more."""
        with suppress(KafkaError):
            self.finish_commit()
        fault = self._process.step(Call.ABORT)
        for queue in self._queues.values():
            queue[:] = [queued for queued in queue if queued.was_sent]
        self._failure = None
        if self._added:
            self._end(fault, commit=False)
        # The row of numbers goes on behind what was sent.
        self._sequences = {
            partition_id: self._broker.partition(partition_id).sequences.get(self._id, 0)
            for partition_id in self._sequences
        }

    def close_now(self) -> None:
        """Forget what was not sent; what was, may still arrive."""
        self._queues.clear()

    def _end(self, fault: Fault | None, *, commit: bool) -> None:
        if fault is Fault.REFUSED:
            raise self._fail(_no_answer())
        while self.in_flight_bytes:
            self._work()
            self._raise_failure()
        self._raise_failure()
        if fault is Fault.LATE:
            self._network.send(lambda: self._ended_late(commit=commit))
            raise self._fail(_no_answer())
        try:
            self._broker.end_transaction(self._id, self._epoch, commit=commit)
        except KafkaError as error:
            raise self._fail(error) from error
        self._added.clear()
        if fault is Fault.LOST:
            raise self._fail(_no_answer())

    def _ended_late(self, *, commit: bool) -> None:
        try:
            self._broker.end_transaction(self._id, self._epoch, commit=commit)
        except KafkaError:
            # Nobody waits for the answer.
            return

    def _work(self) -> None:
        """Send a batch, or let a message arrive."""
        random = self._process.world.random
        unsent = [
            queue
            for queue in self._queues.values()
            if any(not q.sent for q in queue) and sum(q.sent for q in queue) < _IN_FLIGHT_MAX
        ]
        if unsent and (self._network.idle or random.random() < 0.5):
            queue = random.choice(unsent)
            queued = next(q for q in queue if not q.sent)
            queued.sent = queued.was_sent = True
            self._network.send(lambda: self._arrive(queued))
        elif self._network.idle or random.random() * 500 < self._process.world.plan.lossy_percent:
            # Nothing came back for a while: whatever is missing is sent again.
            for queue in self._queues.values():
                for queued in queue:
                    queued.sent = False
        else:
            self._network.move()

    def _arrive(self, queued: _Queued) -> None:
        """Have the broker serve a request, and answer it."""
        outcome: KafkaError | None = None
        try:
            self._broker.produce(self._id, self._epoch, queued.batch, queued.sequence)
        except KafkaError as error:
            outcome = error
        self._network.send(lambda: self._answered(queued, outcome))

    def _answered(self, queued: _Queued, outcome: KafkaError | None) -> None:
        queue = self._queues.get((queued.batch.topic, queued.batch.partition), [])
        if queued not in queue:
            return
        if isinstance(outcome, OutOfOrderSequenceNumberError):
            # One before it is still on its way, or was lost.
            for earlier in queue[: queue.index(queued) + 1]:
                earlier.sent = False
        elif outcome is not None:
            self._failure = outcome
            self._queues.clear()
        else:
            queue.remove(queued)

    def _fail(self, error: KafkaError) -> KafkaError:
        self._failure = error
        return error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


class _ConsumerRecord(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


class SimulatedConsumer:
    """A consumer of committed records; it is assigned one partition at a time.

    One that is not to see only those is asked for offsets alone.
    """

    def __init__(self, process: Process, *, committed: bool) -> None:
        self._process = process
        self._committed = committed
        self._broker: Broker = process.world.broker
        self._positions: dict[TopicPartition, int] = {}
        self._step()

    def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first offsets."""
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets up to which records can be read now."""
        self._step()
        logs = {
            partition_id: self._broker.partition(tuple(partition_id)) for partition_id in partitions
        }
        if self._committed:
            return {partition_id: log.last_stable_offset for partition_id, log in logs.items()}
        return {partition_id: log.end for partition_id, log in logs.items()}

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read from partitions."""
        self._positions = dict.fromkeys(partitions, 0)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read from `offset` on."""
        self._positions[partition] = offset

    def position(self, partition: TopicPartition) -> int:
        """Return the offset that is read next."""
        return self._positions[partition]

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[_ConsumerRecord]]:
        """Return what comes next, and stand behind it."""
        self._step()
        assert self._committed
        polled: dict[TopicPartition, list[_ConsumerRecord]] = {}
        for partition, position in self._positions.items():
            log = self._broker.partition(tuple(partition))
            end = min(position + _POLL_RECORDS_MAX, log.last_stable_offset)
            found = [
                _ConsumerRecord(entry.offset, entry.record.key, entry.record.value)
                for entry in log.entries[position:end]
                if entry.record is not None and is_visible(entry)
            ]
            if found:
                polled[partition] = found
            if end <= position:
                self._process.world.pass_time(timeout_ms / _MS)
                self._broker.mark_one(0)
            self._positions[partition] = max(position, end)
        return polled

    def close(self) -> None:
        """There is nothing to let go of."""

    def _step(self) -> None:
        if self._process.step(Call.READ) is Fault.REFUSED:
            raise KafkaConnectionError


class SimulatedAdmin:
    """Lists and creates topics, which have no limits."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._broker: Broker = process.world.broker

    def list_topics(self) -> list[str]:
        """Return the names of all topics."""
        return list(self._broker.topics)

    def describe_topics(self, topics: list[str]) -> list[dict[str, Any]]:
        """Return whether each topic exists."""
        unknown = UnknownTopicOrPartitionError.errno
        return [
            {"name": name, "error_code": 0 if name in self._broker.topics else unknown}
            for name in topics
        ]

    def describe_configs(self, asked: list[Any], **_: object) -> dict[str, Any]:
        """Return no settings, as for a user who may not see them."""
        if self._process.step(Call.ADMIN) is Fault.REFUSED:
            raise KafkaConnectionError
        return {"TOPIC": {resource.name: {} for resource in asked}}

    def create_topics(self, topics: dict[str, dict[str, Any]], *, wait_for_metadata: bool) -> None:
        """Create topics, which must not exist."""
        del wait_for_metadata
        fault = self._process.step(Call.ADMIN)
        if fault is Fault.REFUSED:
            raise KafkaConnectionError
        existing = [name for name in topics if name in self._broker.topics]
        for name, description in topics.items():
            self._broker.create_topic(name, description["num_partitions"])
        if existing:
            raise TopicAlreadyExistsError(existing[0])
        if fault is Fault.LOST:
            raise _no_answer()

    def list_partition_offsets(self, latest: dict[TopicPartition, Any]) -> None:
        """Find every leader at work, or one that has not heard of its topic yet."""
        assert all(partition.topic in self._broker.topics for partition in latest)
        if self._process.world.random.random() < _UNHEARD_OF:
            raise UnknownTopicOrPartitionError

    def close(self) -> None:
        """There is nothing to let go of."""


def _no_answer() -> KafkaTimeoutError:
    return KafkaTimeoutError("no answer")
