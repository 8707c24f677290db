"""The abort of what a producer has left open when it failed.

The next epoch of the producer aborts it, and Kafka refuses what still arrives from the one before.

*Missing markers.* Kafka 4 aborts a transaction without a marker in partitions that have no leader
(`missing_markers`). So the abort is asked for once all partitions of the transaction have leaders.
They may lose them at that moment, as after a broker that stood still. So the partitions are looked
at after the abort. If the transaction is still open in some of them, another one of the new epoch
is aborted there, and its markers end both.

*Only what was aborted.* Kafka 4 leaves out the markers of commits, too. There, an abort would lose
committed rows, and duplicates are better: so a marker is written only if nothing else can be open
in the partition. Nobody has asked for a commit of the transaction, or Kafka says that it was
aborted; and what is open begins after everything that this producer has committed there. A
partition whose rows were committed gets its marker with the next commit.

For the same reason, a producer that takes over from another one writes no markers: it does not know
what that one had committed.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

from kafka import errors
from kafka.errors import KafkaError
from kafka.protocol.producer import InitProducerIdRequest

from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.cluster import Cluster
from connector.kafka.failures import Action, action_of, gravest
from connector.kafka.missing_markers import (
    ABORTED,
    EMPTY,
    KAFKA_4,
    open_since,
    require_leaders,
    transaction_state,
)
from connector.kafka.transaction_requests import Broker, PartitionId, TransactionOwner, result_of

_MS: Final = 1000
# The first version of InitProducerId that names the epoch to follow, and the last one that we need.
_NAMES_EPOCH: Final = 3
_INIT_VERSION_MAX: Final = 4
_REPEATED: Final = (Action.RETRY, Action.REFRESH)
# Partitions that others write to, too, may have open transactions of these.
_MARKINGS_MAX: Final = 3
# After every offset.
_UNKNOWN_END: Final = 1 << 63


@dataclass(slots=True)
class CurrentTransaction:
    """What a producer knows of its transaction, and of those that it has committed."""

    # Those that Kafka has added to it.
    partitions: set[PartitionId] = field(default_factory=set)
    # Whether Kafka was asked to commit it.
    may_be_committed: bool = False
    # The offset after what Kafka has of it, and after what was committed before.
    ends: dict[PartitionId, int] = field(default_factory=dict)
    committed_ends: dict[PartitionId, int] = field(default_factory=dict)

    def note(self, partition: PartitionId, offset: int, records: int) -> None:
        """Note that Kafka has so many records at an offset, which is negative if it is unknown."""
        self.ends[partition] = offset + records if offset >= 0 else _UNKNOWN_END

    def close(self, *, commit: bool) -> None:
        """Begin the next one."""
        if commit:
            self.committed_ends.update(self.ends)
        self.ends.clear()
        self.partitions.clear()
        self.may_be_committed = False


def init_request(transactional_id: str, timeout_seconds: float, **whose: int) -> Any:
    """Return the request that begins the next epoch, which may name the one to follow."""
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=round(timeout_seconds * _MS),
        max_version=_INIT_VERSION_MAX,
        **whose,
    )


class TransactionAbort:
    """The abort of the transaction of one producer, over several attempts."""

    def __init__(
        self,
        cluster: Cluster,
        owner: TransactionOwner,
        timeout_seconds: float,
        transaction: CurrentTransaction,
    ) -> None:
        """Abort `transaction` of `owner`, which sends nothing more."""
        self._cluster = cluster
        self._owner = owner
        self._timeout_seconds = timeout_seconds
        self._transaction = transaction
        # Whether Kafka may have begun to abort what is open, also if no answer said so.
        self._is_asked = False
        # Whether `owner` has an epoch after that of the transaction.
        self._is_newer = False

    def run(self, seconds: float, coordinator: int | None, *, may_arrive: bool) -> None:
        """Abort, and raise KafkaError or OSError if that is not done in time.

        The `coordinator` is looked for if it is not known. `may_arrive` says that requests of the
        producer may still be on their way. Raises ProducerFencedError if another producer had a
        newer epoch before.
        """
        attempts = self._cluster.attempts(seconds, lambda: None)
        markings_left = _MARKINGS_MAX
        node = coordinator
        while True:
            was_asked = self._is_asked
            error: Exception | None
            try:
                if node is None:
                    node = self._cluster.find_coordinator(self._owner.transactional_id)
                error = self._follow(node, may_arrive=may_arrive)
                if error is None:
                    unmarked = self._unmarked()
                    if not unmarked or not markings_left:
                        return
                    markings_left -= 1
                    error = self._mark(node, unmarked)
            except (OSError, KafkaError) as broken:
                error = broken
            if error is None:
                continue
            # The epoch that has ended it is the newer one: a coordinator that has read its state
            # again, as on a broker that stood still, does not know whose it is.
            if was_asked and action_of(error) is Action.FENCE:
                return
            if action_of(error) not in _REPEATED:
                raise error
            if not isinstance(error, errors.ConcurrentTransactionsError):
                node = None
            attempts.wait(error)

    def _follow(self, node: int, *, may_arrive: bool) -> KafkaError | None:
        """Have Kafka begin the next epoch, unless another producer has a newer one."""
        with closing(self._cluster.connect(node)) as connection:
            if not connection.knows(KAFKA_4):
                # It leaves no marker out.
                self._transaction.partitions.clear()
            if not connection.knows({InitProducerIdRequest.API_KEY: _NAMES_EPOCH}):
                # A late commit or batch would not be refused, so the time has to end it.
                if may_arrive:
                    raise errors.KafkaTimeoutError
                self._is_asked = True
                return gravest([Broker(connection, self._owner).end(commit=False)])
            if self._transaction.partitions:
                self._look(connection)
                require_leaders(self._cluster, self._transaction.partitions)
            owner = self._owner
            whose = {"producer_id": owner.producer_id, "producer_epoch": owner.epoch}
            self._is_asked = True
            request = init_request(owner.transactional_id, self._timeout_seconds, **whose)
            answer = connection.ask(request)
        error = gravest([answer.error_code])
        if error is None:
            self._owner = owner._replace(
                producer_id=answer.producer_id, epoch=answer.producer_epoch
            )
            self._is_newer = True
        return error

    def _look(self, coordinator: BrokerConnection) -> None:
        """Take the epoch by which Kafka has aborted the transaction for this producer's.

        Kafka does not give the epoch after that of an open transaction to anybody else: another
        producer that takes over gets the one after that. If a coordinator has read its state again,
        it refuses the epoch of the transaction itself.
        """
        owner = self._owner
        state = transaction_state(coordinator, owner.transactional_id)
        if (
            self._is_newer
            or state is None
            or (state.producer_id, state.epoch) != (owner.producer_id, owner.epoch + 1)
        ):
            return
        if state.name in ABORTED:
            self._transaction.may_be_committed = False
        elif state.name != EMPTY or self._transaction.may_be_committed:
            return
        self._owner = owner._replace(epoch=state.epoch)
        self._is_newer = True

    def _unmarked(self) -> tuple[PartitionId, ...]:
        """Return where the transaction has to be ended once more."""
        transaction = self._transaction
        if transaction.may_be_committed:
            return ()
        began = open_since(self._cluster, transaction.partitions)
        ends = transaction.committed_ends
        # Of what others have committed to a partition, nothing is known.
        return tuple(each for each, offset in began.items() if offset >= ends.get(each, offset + 1))

    def _mark(self, node: int, partitions: tuple[PartitionId, ...]) -> KafkaError | None:
        """Abort a transaction of the new epoch in some partitions."""
        with closing(self._cluster.connect(node)) as connection:
            broker = Broker(connection, self._owner)
            results = broker.add_partitions(partitions)
            error = gravest([result_of(results, each) for each in partitions])
            return error or gravest([broker.end(commit=False)])
