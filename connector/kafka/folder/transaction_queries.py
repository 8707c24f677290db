"""The requests that look at transactions and producers (KIP-664), by kafka-python's description.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-664
"""

from __future__ import annotations

from typing import Any, Final

from kafka.errors import TransactionalIdNotFoundError
from kafka.protocol.admin import (
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListTransactionsResponse,
)

from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.request_fields import outcome
from connector.kafka.folder.results import OpenTransaction, PartitionId, by_topic

# Of all states that a broker knows, a log in a folder has this one: it ends a transaction at once.
_OPEN: Final = "Ongoing"
_STATES: Final = frozenset(
    {
        _OPEN,
        "Empty",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
)
_NO_EPOCH: Final = -1


def list_transactions(log: FolderLog, request: Any) -> Any:
    """Answer with the open transactions."""
    states, producers = set(request.state_filters), set(request.producer_id_filters)
    kept = log.transactions() if not states or _OPEN in states else []
    return ListTransactionsResponse(
        unknown_state_filters=sorted(states - _STATES),
        transaction_states=[
            ListTransactionsResponse.TransactionState(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=_OPEN,
            )
            for each in kept
            if not producers or each.producer_id in producers
        ],
    )


def describe_transactions(log: FolderLog, request: Any) -> Any:
    """Answer with partitions, start and timeout of open transactions."""
    known = {each.transactional_id: each for each in log.transactions()}
    return DescribeTransactionsResponse(
        transaction_states=[_described(name, known.get(name)) for name in request.transactional_ids]
    )


def _described(name: str, found: OpenTransaction | None) -> Any:
    state = DescribeTransactionsResponse.TransactionState
    if found is None:
        return state(
            error_code=TransactionalIdNotFoundError.errno,
            transactional_id=name,
            transaction_state="",
            topics=[],
        )
    return state(
        transactional_id=name,
        transaction_state=_OPEN,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.start_ms,
        producer_id=found.producer_id,
        producer_epoch=found.epoch,
        topics=[
            state.TopicData(topic=topic, partitions=numbers)
            for topic, numbers in by_topic(found.partitions).items()
        ],
    )


def describe_producers(log: FolderLog, request: Any) -> Any:
    """Answer with the producers of partitions, and where their open transactions begin."""
    topic_of = DescribeProducersResponse.TopicResponse
    return DescribeProducersResponse(
        topics=[
            topic_of(
                name=topic.name,
                partitions=[_active(log, (topic.name, each)) for each in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _active(log: FolderLog, partition: PartitionId) -> Any:
    answered = DescribeProducersResponse.TopicResponse.PartitionResponse
    code, said, producers = outcome(log.producers_of, partition)
    return answered(
        partition_index=partition[1],
        error_code=code,
        error_message=said,
        active_producers=[
            answered.ProducerState(
                producer_id=each.producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.last_ms,
                coordinator_epoch=_NO_EPOCH,
                current_txn_start_offset=each.transaction_start,
            )
            for each in producers or ()
        ],
    )
