"""The transactions of one producer: partitions are added, batches written, the end is asked for.

*Numbering.* Kafka gives the producer an id and an epoch, and the records of each partition have
consecutive numbers. So Kafka keeps no batch twice that is written again, and refuses a producer
whose transactional id another one has taken over.

*Failures.* `failures.ACTIONS` says what is done about each error code. A connection that breaks is
opened again, and the same request repeated, with the same numbers: batches one by one, in their
order. A batch that its topic finds too large is halved.

*An unknown outcome.* If a request gets no response in time, nothing is repeated: it may still
arrive, and a late commit would commit the start of the next transaction. Then the producer has
failed, and `abandon` has Kafka abort what is open by the next epoch, after which it refuses what
still arrives (`transaction_abort`).
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple

import structlog
from kafka import errors
from kafka.errors import KafkaError

from connector.foundation.errors.kinds import line
from connector.kafka import connection_errors
from connector.kafka.cluster import Cluster
from connector.kafka.encoded_batch import SEQUENCE_MAX, EncodedBatch
from connector.kafka.failures import Action, Attempts, TimedOut, action_of, gravest
from connector.kafka.missing_markers import (
    KAFKA_4,
    is_aborting,
    require_leaders,
    require_open_leaders,
)
from connector.kafka.transaction_abort import (
    MARKINGS_MAX,
    CurrentTransaction,
    TransactionAbort,
    init_request,
)
from connector.kafka.transaction_requests import Broker, PartitionId, TransactionOwner, result_of

_MS: Final = 1000
_REPEATED: Final = (Action.RETRY, Action.REFRESH)
_TOO_LARGE: Final = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)


class _Written(NamedTuple):
    """Batches of different partitions that were written together; by the broker that was asked."""

    began: float
    batches: list[EncodedBatch]
    asked: list[tuple[Broker, list[EncodedBatch]]]


class TransactionClient:
    """One thread at a time may use it, but for `interrupt`.

    All methods that send raise OSError or KafkaError; then only `abandon` may follow. `check` may
    raise why all attempts are in vain.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: Mapping[str, Any],
        transactional_id: str,
        timeout_seconds: float,
        check: Callable[[], None],
    ) -> None:
        """Take over `transactional_id`, whose transactions Kafka aborts after the timeout."""
        self._cluster = cluster
        self._id = transactional_id
        self._timeout_seconds = timeout_seconds
        self._check_waits = check
        self._client_id: str = settings["client_id"]
        self._brokers: dict[int, Broker] = {}
        self._coordinator_node: int | None = None
        # The numbers of the next records.
        self._numbers: Counter[PartitionId] = Counter()
        self._unacknowledged: deque[_Written] = deque()
        # Whether they have to be written again, because a connection broke or a leader moved.
        self._is_broken = False
        # Why it is of no more use.
        self.failure: Exception | None = None
        # Of the transaction: for how long no broker was there for a request.
        self._away_seconds = 0.0
        self._away_since = inf
        self._transaction = CurrentTransaction()
        self._abort: TransactionAbort | None = None
        self._owner: TransactionOwner
        self._take_over()

    def add_partitions(self, wanted: Iterable[PartitionId]) -> None:
        """Add partitions to the transaction, once the one before has ended."""
        partitions = tuple(sorted(wanted))
        if not self._transaction.partitions:
            self._away_seconds = 0.0

        def attempt() -> KafkaError | None:
            results = self._coordinator().add_partitions(partitions)
            return gravest([result_of(results, partition) for partition in partitions])

        self._until_done(attempt, self._timeout_seconds)
        self._transaction.partitions.update(partitions)

    def write(self, ready: Iterable[EncodedBatch]) -> None:
        """Write one batch to each of some partitions; `acknowledge` awaits that."""
        batches = list(ready)
        for records in batches:
            partition = records.partition_id
            number = self._numbers[partition] & SEQUENCE_MAX
            records.number(self._owner.producer_id, self._owner.epoch, number)
            records.close()
            self._numbers[partition] += records.count
        written = _Written(self._cluster.now(), batches, [])
        self._unacknowledged.append(written)
        # What is sent now would overtake what has to be sent again.
        if not self._is_broken:
            try:
                written.asked.extend(self._send(batches))
            except (OSError, KafkaError) as error:
                self._break(error)

    @property
    def away_seconds(self) -> float:
        """For how long no broker was there for a request of the transaction."""
        return self._away_seconds + max(0.0, self._cluster.now() - self._away_since)

    @property
    def unacknowledged(self) -> int:
        """How often `acknowledge` may be called."""
        return len(self._unacknowledged)

    def acknowledge(self) -> list[EncodedBatch]:
        """Wait until Kafka has what was written first; return it, and what came meanwhile."""
        if not self._is_broken:
            written = self._unacknowledged[0]
            try:
                error = gravest(list(self._outcome(written.asked).values()))
            except (OSError, KafkaError) as broken:
                error = broken
            if error is None:
                self._unacknowledged.popleft()
                return written.batches
            self._break(error)
        return self._write_again()

    def end(self, *, commit: bool) -> None:
        """Commit or abort the transaction."""
        transaction = self._transaction

        def attempt() -> KafkaError | None:
            coordinator = self._coordinator()
            if not commit and coordinator.connection.knows(KAFKA_4):
                require_leaders(self._cluster, transaction.partitions)
            transaction.may_be_committed, transaction.may_have_ended = commit, True
            return gravest([coordinator.end(commit=commit)])

        self._until_done(attempt, self._timeout_seconds)
        markings_left = 0 if commit else MARKINGS_MAX
        while markings_left and (unmarked := self._unmarked()):
            markings_left -= 1
            self.add_partitions(unmarked)
            self._until_done(attempt, self._timeout_seconds)
        transaction.close(commit=commit)

    def fail(self, seconds: float) -> TimedOut:
        """Give the producer up, because nothing was heard for so long; return the error."""
        failure = TimedOut(connection_errors.NO_ANSWER_IN_TIME, seconds=seconds)
        self.failure = failure
        return failure

    def abandon(self, seconds: float) -> None:
        """Abort what is open, after any failure; the producer is of no use any more.

        Kafka also refuses what still arrives from it. Raises the failure itself if Kafka accepts no
        abort, or if another producer had a newer epoch before.
        """
        self.close()
        if self.failure is not None and action_of(self.failure) in (Action.FENCE, Action.STOP):
            raise self.failure
        if self._abort is None:
            self._abort = TransactionAbort(
                self._cluster, self._owner, self._timeout_seconds, self._transaction
            )
        may_arrive = self.failure is None or isinstance(self.failure, TimedOut)
        self._abort.run(seconds, self._coordinator_node, may_arrive=may_arrive)

    def interrupt(self) -> None:
        """Have another thread fail that waits for a response, or before its next attempt."""
        self._check_waits = _refuse
        self._cluster.interrupt()
        for broker in list(self._brokers.values()):
            broker.connection.interrupt()

    def close(self) -> None:
        """Close the connections; the next request opens them again."""
        for broker in self._brokers.values():
            broker.connection.close()
        self._brokers.clear()

    def _until_done(self, attempt: Callable[[], KafkaError | None], seconds: float) -> None:
        """Repeat a request to the coordinator until it is done."""
        attempts = self._cluster.attempts(seconds, self._check)
        while True:
            began = self._cluster.now()
            try:
                error: Exception | None = attempt()
            except (OSError, KafkaError) as broken:
                error = broken
                self._require_answer(broken)
                self.close()
            self._note_attempt(error, began)
            if error is None:
                return
            self._require_repeatable(error)
            if action_of(error) is Action.REFRESH:
                self._coordinator_node = None
            _log(error)
            self._wait(attempts, error)

    def _unmarked(self) -> tuple[PartitionId, ...]:
        """Return where Kafka has ended the transaction without a marker, by an abort."""
        unmarked: tuple[PartitionId, ...] = ()

        def attempt() -> KafkaError | None:
            nonlocal unmarked
            coordinator = self._coordinator().connection
            if coordinator.knows(KAFKA_4):
                if is_aborting(coordinator, self._id):
                    return errors.ConcurrentTransactionsError()
                unmarked = self._transaction.unmarked(self._cluster)
            return None

        self._until_done(attempt, self._timeout_seconds)
        return unmarked

    def _take_over(self) -> None:
        """Take over; an open transaction of the producer before waits for leaders, so for markers.

        A partition may have lost its leader for good, and all others would stay open meanwhile. So
        after the time of a request, Kafka 4 may end them without it.
        """
        seconds = self._cluster.request_seconds
        try:
            self._until_done(partial(self._begin, needs_leaders=True), seconds)
        except errors.LeaderNotAvailableError as error:
            self.failure = None
            (partition,) = error.args
            structlog.get_logger().warning(
                **line(connection_errors.NO_LEADER, partition="-".join(map(str, partition)))
            )
            self._until_done(partial(self._begin, needs_leaders=False), seconds)

    def _begin(self, *, needs_leaders: bool) -> KafkaError | None:
        node = self._coordinating()
        connection = self._cluster.connect(node)
        with ExitStack() as opened:
            opened.callback(connection.close)
            if needs_leaders and connection.knows(KAFKA_4):
                require_open_leaders(self._cluster, connection, self._id)
            response = connection.ask(init_request(self._id, self._timeout_seconds))
            if response.error_code:
                return gravest([response.error_code])
            opened.pop_all()
        self._owner = TransactionOwner(
            self._client_id,
            self._id,
            response.producer_id,
            response.producer_epoch,
            round(self._cluster.request_seconds * _MS),
        )
        self._brokers[node] = Broker(connection, self._owner)
        return None

    def _send(self, batches: list[EncodedBatch]) -> list[tuple[Broker, list[EncodedBatch]]]:
        by_leader: dict[int, list[EncodedBatch]] = {}
        for records in batches:
            leader = self._cluster.leader_of(records.partition_id)
            by_leader.setdefault(leader, []).append(records)
        asked = [(self._broker(leader), own) for leader, own in by_leader.items()]
        for broker, own in asked:
            broker.write(own)
        return asked

    def _break(self, error: Exception) -> None:
        """Have everything written again that is not acknowledged, if `error` allows that."""
        self._require_answer(error)
        began, batches, _ = self._unacknowledged[0]
        self._note_attempt(error, began)
        if not (isinstance(error, _TOO_LARGE) and any(one.count > 1 for one in batches)):
            self._require_repeatable(error)
        _log(error)
        self._is_broken = True

    def _write_again(self) -> list[EncodedBatch]:
        """Write what is not acknowledged, a batch of each partition at a time; return all of it."""
        every = [records for written in self._unacknowledged for records in written.batches]
        left = list(every)
        attempts = self._cluster.attempts(self._timeout_seconds, self._check)
        # Whatever responses may still come, they are of requests that do not count any more.
        self.close()
        while left:
            self._check()
            first: dict[PartitionId, EncodedBatch] = {}
            for records in left:
                first.setdefault(records.partition_id, records)
            outcome: dict[EncodedBatch, int] = {}
            error: Exception | None = None
            began = self._cluster.now()
            try:
                self._cluster.refresh({topic for topic, _ in first})
                outcome = self._outcome(self._send(list(first.values())))
                error = gravest(list(outcome.values()))
            except (OSError, KafkaError) as broken:
                error = broken
                self._require_answer(broken)
                self.close()
            self._note_attempt(error, began)
            rest = [part for one in left for part in self._rest_of(one, outcome)]
            if error is not None and rest == left:
                self._require_repeatable(error)
                self._wait(attempts, error)
            left = rest
        self._unacknowledged.clear()
        self._is_broken = False
        return every

    def _outcome(self, asked: list[tuple[Broker, list[EncodedBatch]]]) -> dict[EncodedBatch, int]:
        """Return the error code of each batch, and note where it is."""
        outcome: dict[EncodedBatch, int] = {}
        for broker, batches in asked:
            results = broker.written()
            for records in batches:
                code, offset = result_of(results, records.partition_id)
                outcome[records] = code
                self._transaction.note(records.partition_id, offset, records.count)
        return outcome

    def _rest_of(
        self, records: EncodedBatch, outcome: Mapping[EncodedBatch, int]
    ) -> list[EncodedBatch]:
        """Return what is still to be written of a batch."""
        code = outcome.get(records)
        if code is None:
            return [records]
        error = gravest([code])
        if error is None:
            return []
        if isinstance(error, _TOO_LARGE) and records.count > 1:
            return records.halves()
        self._require_repeatable(error)
        return [records]

    def _note_attempt(self, error: Exception | None, began: float) -> None:
        """Note whether a broker was there for a request that began at a moment."""
        if error is not None and action_of(error) is Action.REFRESH:
            self._away_since = min(self._away_since, began)
            return
        self._away_seconds += max(0.0, began - self._away_since)
        self._away_since = inf

    def _require_answer(self, error: Exception) -> None:
        """Fail if a request may still arrive."""
        if isinstance(error, TimeoutError):
            raise self.fail(self._cluster.request_seconds) from error

    def _require_repeatable(self, error: Exception) -> None:
        """Fail if the same request would fail again."""
        if action_of(error) not in _REPEATED:
            self.failure = error
            raise error

    def _check(self) -> None:
        try:
            self._check_waits()
        except Exception as failure:
            self.failure = failure
            raise

    def _wait(self, attempts: Attempts, error: Exception) -> None:
        try:
            attempts.wait(error)
        except Exception as failure:
            if failure is error and not isinstance(error, errors.BrokerResponseError):
                raise self.fail(self._timeout_seconds) from error
            self.failure = failure
            raise

    def _coordinating(self) -> int:
        if self._coordinator_node is None:
            self._coordinator_node = self._cluster.find_coordinator(self._id)
        return self._coordinator_node

    def _coordinator(self) -> Broker:
        return self._broker(self._coordinating())

    def _broker(self, node: int) -> Broker:
        broker = self._brokers.get(node)
        if broker is None:
            broker = self._brokers[node] = Broker(self._cluster.connect(node), self._owner)
        return broker


def _refuse() -> None:
    raise errors.KafkaConnectionError


def _log(error: Exception) -> None:
    # The leader of a new partition is not known yet, which needs nobody's attention.
    structlog.get_logger().debug(
        "a request to Kafka is repeated", error=f"{type(error).__name__}: {error}"
    )
