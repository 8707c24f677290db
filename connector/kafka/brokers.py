"""A broker as a transaction sees it: partitions are added, batches written, the end asked for.

Nearly all brokers get the requests that `transaction_requests` encodes. Those before Kafka 2.8 know
only earlier versions, by kafka-python's description of the protocol.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from kafka.protocol.producer import AddPartitionsToTxnRequest, EndTxnRequest, ProduceRequest

from connector.kafka import transaction_requests
from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.encoded_batch import EncodedBatch
from connector.kafka.transaction_requests import (
    PartitionId,
    TransactionOwner,
    TransactionRequests,
)


class Broker:
    """A connection for the requests of transactions; every method raises OSError or KafkaError."""

    def __init__(self, connection: BrokerConnection, owner: TransactionOwner) -> None:
        self.connection = connection
        self._owner = owner
        self._requests = TransactionRequests(owner)

    def add_partitions(self, partitions: tuple[PartitionId, ...]) -> dict[PartitionId, int]:
        """Add partitions to the transaction; return the error code of each."""
        number = self.connection.next_number()
        self.connection.send(self._requests.add_partitions(number, partitions))
        return transaction_requests.add_partitions_errors(self.connection.receive())

    def write(self, batches: Iterable[EncodedBatch]) -> None:
        """Write one closed batch to each of some partitions; `written` has the outcome."""
        whole = [(batch.topic, batch.partition, batch.buffer()) for batch in batches]
        self.connection.send(self._requests.produce(self.connection.next_number(), whole))

    def written(self) -> dict[PartitionId, int]:
        """Return the error code of each partition of the first request that has no outcome yet."""
        return transaction_requests.produce_errors(self.connection.receive())

    def end(self, *, commit: bool) -> int:
        """Commit or abort the transaction; return the error code."""
        self.connection.send(self._requests.end(self.connection.next_number(), commit=commit))
        return transaction_requests.end_txn_error(self.connection.receive())


class OlderBroker(Broker):
    """A broker before Kafka 2.8."""

    def __init__(self, connection: BrokerConnection, owner: TransactionOwner) -> None:
        super().__init__(connection, owner)
        self._unanswered: deque[Any] = deque()

    def add_partitions(self, partitions: tuple[PartitionId, ...]) -> dict[PartitionId, int]:
        owner, description = self._owner, AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=owner.transactional_id,
            v3_and_below_producer_id=owner.producer_id,
            v3_and_below_producer_epoch=owner.epoch,
            v3_and_below_topics=[
                description(name=topic, partitions=[partition for _, partition in rows])
                for topic, rows in transaction_requests.by_topic(sorted(partitions))
            ],
            max_version=transaction_requests.VERSIONS[transaction_requests.ADD_PARTITIONS_TO_TXN],
        )
        return {
            (topic.name, result.partition_index): result.partition_error_code
            for topic in self.connection.ask(request).results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }

    def write(self, batches: Iterable[EncodedBatch]) -> None:
        whole = sorted((batch.topic, batch.partition, batch.buffer()) for batch in batches)
        topic_data = ProduceRequest.TopicProduceData
        request = ProduceRequest(
            transactional_id=self._owner.transactional_id,
            acks=transaction_requests.ALL_REPLICAS,
            timeout_ms=self._owner.timeout_ms,
            topic_data=[
                topic_data(
                    name=topic,
                    partition_data=[
                        topic_data.PartitionProduceData(index=partition, records=data)
                        for _, partition, data in rows
                    ],
                )
                for topic, rows in transaction_requests.by_topic(whole)
            ],
            min_version=3,
            max_version=transaction_requests.VERSIONS[transaction_requests.PRODUCE],
        )
        self.connection.send_described(request)
        self._unanswered.append(request)

    def written(self) -> dict[PartitionId, int]:
        response = self.connection.receive_described(self._unanswered.popleft())
        return {
            (topic.name, result.index): result.error_code
            for topic in response.responses
            for result in topic.partition_responses
        }

    def end(self, *, commit: bool) -> int:
        owner = self._owner
        request = EndTxnRequest(
            transactional_id=owner.transactional_id,
            producer_id=owner.producer_id,
            producer_epoch=owner.epoch,
            committed=commit,
            max_version=transaction_requests.VERSIONS[transaction_requests.END_TXN],
        )
        return int(self.connection.ask(request).error_code)
