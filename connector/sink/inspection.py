"""Reads what a run would find in Kafka; it creates, writes and fences nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka.errors import (
    IncompatibleBrokerVersion,
    KafkaError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)
from kafka.protocol.admin import DescribeTransactionsRequest

from connector.sink import attempts
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.connection import client_settings, connector_error
from connector.sink.kafka_sink import topics_at_start, transactional_id
from connector.sink.recovery import Recovered, recover
from connector.sink.topics import TopicCreator

if TYPE_CHECKING:
    from connector.settings.sections import KafkaSettings

_WRITE = "WRITE"


def inspect(settings: KafkaSettings, name: str, clients: KafkaClients = KAFKA_CLIENTS) -> Recovered:
    """Return the state that pipeline `name` would continue from.

    The pipeline may be running: its transactions are neither waited for nor aborted. Raises the
    errors of opening a KafkaSink, and DecodeError for progress of another version.
    """
    topics = topics_at_start(settings)
    missing = TopicCreator(settings, clients).missing(*topics)
    _check_rights(settings, name, [topic for topic in topics if topic not in missing], clients)
    return recover(settings, name, clients, missing=missing, to_the_last=False)


def _check_rights(
    settings: KafkaSettings, name: str, topics: list[str], clients: KafkaClients
) -> None:
    """Check the rights to write `topics` and to use the transactional id."""
    own_id = transactional_id(settings, name)
    doing = attempts.taking_over(own_id)
    try:
        admin = clients.open_admin(**client_settings(settings))
        try:
            if not _may_use(admin, own_id):
                raise TransactionalIdAuthorizationFailedError
            for topic in admin.describe_topics(topics) if topics else ():
                doing = attempts.writing(topic["name"])
                # A broker that does not report rights lists none.
                rights = topic["authorized_operations"]
                if rights and _WRITE not in rights:
                    raise TopicAuthorizationFailedError
        finally:
            admin.close()
    except (KafkaError, OSError) as error:
        raise connector_error(settings, doing, error) from error


def _may_use(admin: Any, own_id: str) -> bool:
    """Return whether a transactional id may be used, as far as the cluster reports it.

    The client's own function looks for the coordinator. In a cluster without transactions, that
    creates the internal topic of transactions.
    """
    request = DescribeTransactionsRequest(transactional_ids=[own_id])
    manager = admin._manager  # noqa: SLF001
    try:
        answer = manager.run(manager.send, request)
    except IncompatibleBrokerVersion:
        # Kafka before 3.0 does not report it.
        return True
    refusal = TransactionalIdAuthorizationFailedError.errno
    return all(state.error_code != refusal for state in answer.transaction_states)
