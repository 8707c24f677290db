"""Transactions that a broker forgot when it was killed: partitions wait for their end for ever.

The coordinator has ended the transaction, but a partition has no marker of its end. Nothing in
Kafka repairs this, so an operator aborts it: `kafka-transactions.sh abort`.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-664%3A+Provide+tooling+to+detect+and+abort+hanging+transactions
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import AbortTransactionSpec

from tests.integration.harness import consumer_of

if TYPE_CHECKING:
    from local_stack import Endpoint

# The timeout of a transaction, and the interval in which the coordinator looks for it.
_OPEN_SECONDS: Final = 40.0
_LOOK_SECONDS: Final = 1.0


def abort_hanging(broker: Endpoint, prefix: str) -> int:
    """Wait until no transaction is older than its timeout; abort others, and return how many."""
    began = time.monotonic()
    seen: dict[tuple[TopicPartition, int], float] = {}
    with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap)) as admin:
        while True:
            now = time.monotonic()
            found = _open(admin, broker, prefix)
            seen = {each: seen.get(each, now) for each in found}
            old = [each for each, since in seen.items() if now - since > _OPEN_SECONDS]
            for partition, offset in old:
                admin.abort_transaction(found[partition, offset])
            if old or not seen or now - began > 2 * _OPEN_SECONDS:
                return len(old)
            # The connector begins new ones all the time: those of before are gone.
            if all(since > began + _LOOK_SECONDS for since in seen.values()):
                return 0
            time.sleep(_LOOK_SECONDS)


def _open(
    admin: KafkaAdminClient, broker: Endpoint, prefix: str
) -> dict[tuple[TopicPartition, int], AbortTransactionSpec]:
    """Return the open transactions, by partition and first offset."""
    with closing(consumer_of(broker)) as consumer:
        partitions = [
            TopicPartition(topic, number)
            for topic in admin.list_topics()
            if topic == prefix or topic.startswith(f"{prefix}.")
            for number in consumer.partitions_for_topic(topic) or ()
        ]
    return {
        (partition, each.current_transaction_start_offset): AbortTransactionSpec(
            topic_partition=partition,
            producer_id=each.producer_id,
            producer_epoch=each.producer_epoch,
        )
        for partition, state in admin.describe_producers(partitions).items()
        for each in state.active_producers
        if each.current_transaction_start_offset >= 0
    }
