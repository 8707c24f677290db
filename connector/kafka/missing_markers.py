"""Markers that Kafka 4 leaves out at the end of a transaction, and what brokers say about them.

When a transaction ends, its coordinator has each of its partitions write a marker. Kafka 4 takes a
partition that no broker leads at this moment for a deleted one: it ends the transaction without
this marker. The partition then waits for it without end. Readers of committed records see nothing
after the transaction's first record there, until the same producer ends another transaction in
this partition: its marker also ends the older one, a commit by showing the aborted records.
Brokers before Kafka 4 wait until the partition has a leader.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from typing import Final, NamedTuple

from kafka import errors
from kafka.protocol.admin import DescribeTransactionsRequest
from kafka.protocol.consumer import IsolationLevel

from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.cluster import Cluster, end_offsets
from connector.kafka.transaction_requests import END_TXN, PartitionId

# A version of a request that came with Kafka 4.
KAFKA_4: Final = {END_TXN: 5}
ONGOING: Final = "Ongoing"
# Not all markers are written yet.
ABORTING: Final = "PrepareAbort"
ABORTED: Final = (ABORTING, "CompleteAbort")


class TransactionState(NamedTuple):
    """What the coordinator says of a transactional id."""

    name: str
    producer_id: int
    epoch: int
    # When the last transaction began, by the coordinator's clock; negative if there was none.
    begun_ms: int
    # Of a transaction that has not ended, those without a marker.
    partitions: frozenset[PartitionId]


def transaction_state(
    coordinator: BrokerConnection, transactional_id: str
) -> TransactionState | None:
    """Return the state of a transactional id; None if the broker does not tell. Raises OSError."""
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    try:
        answer = coordinator.ask(request)
    except errors.IncompatibleBrokerVersion:
        return None
    for state in answer.transaction_states:
        # The next request gets the same error, and has an action for it.
        if not state.error_code:
            partitions = {
                (each.topic, number) for each in state.topics for number in each.partitions
            }
            return TransactionState(
                state.transaction_state,
                state.producer_id,
                state.producer_epoch,
                state.transaction_start_time_ms,
                frozenset(partitions),
            )
    return None


def require_leaders(cluster: Cluster, partitions: Collection[PartitionId]) -> set[PartitionId]:
    """Return those of some partitions that exist and that this user may see.

    Raises LeaderNotAvailableError if no broker leads one of them, and other KafkaError or OSError.
    """
    described = cluster.described({topic for topic, _ in partitions})
    found = {(topic.name, one.partition_index) for topic in described for one in topic.partitions}
    found.intersection_update(partitions)
    for partition in found:
        cluster.leader_of(partition)
    return found


def require_open_leaders(
    cluster: Cluster, coordinator: BrokerConnection, transactional_id: str
) -> None:
    """Raise as `require_leaders` does if Kafka would abort an open transaction without markers."""
    state = transaction_state(coordinator, transactional_id)
    if state is not None and state.name == ONGOING:
        require_leaders(cluster, state.partitions)


def is_aborting(coordinator: BrokerConnection, transactional_id: str) -> bool:
    """Return whether Kafka still has to write markers of an abort. Raises OSError."""
    state = transaction_state(coordinator, transactional_id)
    return state is not None and state.name == ABORTING


def open_since(cluster: Cluster, partitions: Collection[PartitionId]) -> dict[PartitionId, int]:
    """Return from which offset on a transaction is open, for each partition that has one.

    Raises as `require_leaders` does.
    """
    by_leader: dict[int, list[PartitionId]] = {}
    for partition in sorted(require_leaders(cluster, partitions)):
        by_leader.setdefault(cluster.leader_of(partition), []).append(partition)
    began: dict[PartitionId, int] = {}
    for node, own in by_leader.items():
        with closing(cluster.connect(node)) as leader:
            # In this order, a transaction that begins in between is none.
            ends = end_offsets(leader, own, IsolationLevel.READ_UNCOMMITTED)
            stable = end_offsets(leader, own, IsolationLevel.READ_COMMITTED)
        began |= {each: stable[each] for each in own if stable[each] < ends[each]}
    return began
