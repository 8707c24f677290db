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
aborted; and what is open begins with its own records there, or after everything that this producer
has committed before. A partition whose rows were committed gets its marker with the next commit.

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

from connector.kafka import missing_markers
from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.cluster import Cluster
from connector.kafka.failures import Action, action_of, gravest
from connector.kafka.transaction_requests import Broker, PartitionId, TransactionOwner, result_of

_MS: Final = 1000
# The first version of InitProducerId that names the epoch to follow, and the last one that we need.
_NAMES_EPOCH: Final = 3
_INIT_VERSION_MAX: Final = 4
_REPEATED: Final = (Action.RETRY, Action.REFRESH)
# Partitions that others write to, too, may have open transactions of these.
MARKINGS_MAX: Final = 3
# After every offset.
_UNKNOWN_END: Final = 1 << 63


@dataclass(slots=True)
class CurrentTransaction:
    """What a producer knows of its transaction, and of those that it has committed."""

    # Those that Kafka has added to it.
    partitions: set[PartitionId] = field(default_factory=set)
    # Whether Kafka was asked to commit it, and whether it was asked to end it.
    may_be_committed: bool = False
    may_have_ended: bool = False
    # The offset of the first of what Kafka has of it, and after the last; and after what was
    # committed before.
    starts: dict[PartitionId, int] = field(default_factory=dict)
    ends: dict[PartitionId, int] = field(default_factory=dict)
    committed_ends: dict[PartitionId, int] = field(default_factory=dict)

    def note(self, partition: PartitionId, offset: int, records: int) -> None:
        """Note that Kafka has so many records at an offset, which is negative if it is unknown."""
        self.ends[partition] = offset + records if offset >= 0 else _UNKNOWN_END
        if offset >= 0:
            self.starts.setdefault(partition, offset)

    def unmarked(self, cluster: Cluster) -> tuple[PartitionId, ...]:
        """Return where it has to be aborted once more, after Kafka has ended it.

        Raises KafkaError or OSError, also while no broker leads one of its partitions.
        """
        if self.may_be_committed:
            return ()
        # Of what others have committed to a partition, nothing is known. But all that is open is
        # of this transaction if nothing before its own records is.
        known = (self.starts, self.committed_ends)
        return tuple(
            each
            for each, offset in missing_markers.open_since(cluster, self.partitions).items()
            if any(offset >= bound.get(each, _UNKNOWN_END) for bound in known)
        )

    def close(self, *, commit: bool) -> None:
        """Begin the next one."""
        if commit:
            self.committed_ends.update(self.ends)
        self.starts.clear()
        self.ends.clear()
        self.partitions.clear()
        self.may_be_committed = self.may_have_ended = False


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
        # When the transaction began, from when it was seen open on.
        self._begun_ms: int | None = None

    def run(self, seconds: float, coordinator: int | None, *, may_arrive: bool) -> None:
        """Abort, and raise KafkaError or OSError if that is not done in time.

        The `coordinator` is looked for if it is not known. `may_arrive` says that requests of the
        producer may still be on their way. Raises ProducerFencedError if another producer had a
        newer epoch before.
        """
        attempts = self._cluster.attempts(seconds, lambda: None)
        markings_left = MARKINGS_MAX
        node = coordinator
        while True:
            was_asked = self._is_asked
            error: Exception | None
            try:
                if node is None:
                    node = self._cluster.find_coordinator(self._owner.transactional_id)
                error = self._follow(node, may_arrive=may_arrive)
                if error is None:
                    unmarked = self._transaction.unmarked(self._cluster)
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
            if not connection.knows(missing_markers.KAFKA_4):
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
                missing_markers.require_leaders(self._cluster, self._transaction.partitions)
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

        Kafka grants the epoch after that of an open transaction to nobody: another producer that
        takes over gets the one after that. If a coordinator has read its state again, it refuses
        the epoch of the transaction itself.

        If Kafka may have ended the transaction because it was asked to, that epoch may be another
        producer's. Then only the transaction that was seen open is this producer's. Raises
        ProducerFencedError for an open one of another producer, which Kafka would abort.
        """
        owner, transaction = self._owner, self._transaction
        state = missing_markers.transaction_state(coordinator, owner.transactional_id)
        if self._is_newer or state is None or state.producer_id != owner.producer_id:
            return
        is_open = state.name == missing_markers.ONGOING
        if state.epoch == owner.epoch:
            if is_open:
                self._begun_ms = state.begun_ms
        elif state.epoch == owner.epoch + 1 and (
            not transaction.may_have_ended or state.begun_ms == self._begun_ms
        ):
            if state.name in missing_markers.ABORTED:
                transaction.may_be_committed = False
                self._owner = owner._replace(epoch=state.epoch)
                self._is_newer = True
        elif is_open:
            raise errors.ProducerFencedError

    def _mark(self, node: int, partitions: tuple[PartitionId, ...]) -> KafkaError | None:
        """Abort a transaction of the new epoch in some partitions."""
        with closing(self._cluster.connect(node)) as connection:
            broker = Broker(connection, self._owner)
            results = broker.add_partitions(partitions)
            error = gravest([result_of(results, each) for each in partitions])
            return error or gravest([broker.end(commit=False)])
