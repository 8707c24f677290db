"""The `[kafka]` settings become arguments of kafka-python's clients, and its errors become ours.

Error texts name what was attempted: `reading`, `writing` and so on are these names.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition, errors
from kafka.errors import KafkaError

from connector.foundation.errors import ConfigError, ConnectorError, SinkRefused, SinkUnavailable
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka import connection_errors
from connector.kafka.failures import BrokersUnreachable, TimedOut
from connector.kafka.kafka_python import network_client
from connector.kafka.producer import TransactionalProducer
from connector.stream.sink import kafka_errors
from connector.stream.sink.topic_preparation import Background, in_thread

# A retry cannot help with these.
_REFUSALS: dict[type[errors.KafkaError], ErrorCode] = {
    errors.TopicAuthorizationFailedError: kafka_errors.TOPIC_RIGHTS,
    errors.ClusterAuthorizationFailedError: kafka_errors.CLUSTER_RIGHTS,
    errors.TransactionalIdAuthorizationFailedError: kafka_errors.TRANSACTIONAL_RIGHTS,
    errors.SaslAuthenticationFailedError: kafka_errors.LOGIN,
    errors.UnsupportedSaslMechanismError: kafka_errors.MECHANISM,
    errors.InvalidTransactionTimeoutError: kafka_errors.TIMEOUT,
    errors.InvalidPartitionsError: kafka_errors.PARTITIONS,
    errors.PolicyViolationError: kafka_errors.POLICY,
    errors.InvalidTopicError: kafka_errors.TOPIC_NAME,
    errors.MessageSizeTooLargeError: kafka_errors.RECORD_SIZE,
    errors.RecordListTooLargeError: kafka_errors.RECORD_SIZE,
    errors.UnsupportedVersionError: kafka_errors.VERSION,
}


def client_settings(settings: KafkaSettings) -> dict[str, Any]:
    """Return the arguments that producer, consumer and admin client share.

    Raises ConfigError for a file that cannot be used, and what a command for the password raises.
    """
    arguments: dict[str, Any] = {
        "bootstrap_servers": settings.bootstrap_servers,
        "client_id": "binlog-connector",
        "request_timeout_ms": int(settings.request_timeout_seconds * 1000),
        "bootstrap_timeout_ms": int(settings.request_timeout_seconds * 1000),
        # The default backs off up to 30 s, and a broker's restart would take that long.
        "reconnect_backoff_max_ms": 1000,
        "kafka_client": network_client,
    }
    arguments |= settings.login_arguments()
    files = {
        "ssl_ca": settings.ssl_ca,
        "ssl_certificate": settings.ssl_certificate,
        "ssl_key": settings.ssl_key,
    }
    for key, path in files.items():
        if path is not None:
            _require_file(key, path)
    if settings.ssl_ca is not None or settings.ssl_certificate is not None:
        _require_certificates(settings)
    return arguments


def consumer_settings(settings: KafkaSettings) -> dict[str, Any]:
    """Return the arguments of a consumer of committed records, without a group.

    Raises ConfigError for a file that cannot be used.
    """
    return client_settings(settings) | {
        "enable_auto_commit": False,
        "group_id": None,
        "isolation_level": "read_committed",
        # Nobody reads the client's own figures.
        "metrics_enabled": False,
    }


def _require_file(key: str, path: Path) -> None:
    """Raise ConfigError for a file that cannot be read; the client would report a dead broker."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise _unusable(path, key, error.strerror) from error


def _require_certificates(settings: KafkaSettings) -> None:
    """Raise ConfigError for files without certificates; the client would report a dead broker."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.ssl_ca is not None:
        try:
            context.load_verify_locations(settings.ssl_ca)
        except ssl.SSLError as error:
            raise _unusable(settings.ssl_ca, "ssl_ca", error.reason) from error
    if settings.ssl_certificate is not None:
        try:
            context.load_cert_chain(settings.ssl_certificate, settings.ssl_key, password="")
        except ssl.SSLError as error:
            raise _unusable(settings.ssl_certificate, "ssl_certificate", error.reason) from error


def _unusable(path: Path, key: str, why: str | None) -> ConfigError:
    if not why:
        return ConfigError(connection_errors.KAFKA_FILE_NOT_PEM, key=key, path=path)
    return ConfigError(connection_errors.KAFKA_FILE, key=key, path=path, why=why)


# Errors of the client itself: no broker has answered.
_NO_ANSWER = (errors.KafkaTimeoutError, errors.KafkaConnectionError, errors.NodeNotReadyError)


# Kafka's errors for a producer whose transactional id another producer has taken over, or whose
# transaction it has aborted because of the timeout.
_SUPERSEDED = (errors.ProducerFencedError, errors.InvalidProducerEpochError)


def is_superseded(error: Exception) -> bool:
    """Return whether Kafka says with `error` that another producer has taken over.

    While the coordinator is fencing a producer, it may also answer UNKNOWN_SERVER_ERROR.
    """
    return isinstance(error, _SUPERSEDED)


def servers_of(settings: KafkaSettings) -> str:
    """Return the brokers' addresses for error texts."""
    return ",".join(settings.bootstrap_servers)


def connector_error(
    settings: KafkaSettings, doing: Message, error: errors.KafkaError | OSError
) -> ConnectorError:
    """Return our error for an error of kafka-python; `doing` names the attempt."""
    if isinstance(error, Interrupted):
        return error.error
    if isinstance(error, TimedOut) and error.message.code is kafka_errors.OPEN_TRANSACTION:
        # Kafka answers, and its settings are right.
        facts: dict[str, Any] = error.message.facts
        return SinkUnavailable(kafka_errors.OPEN_TRANSACTION, answered=False, **facts)
    servers = servers_of(settings)
    # A password of a command may be a newer one at the next attempt.
    renewed = bool(settings.sasl_password_command)
    if isinstance(error, BrokersUnreachable):
        if error.definite and not (
            renewed and error.message.code is connection_errors.LOGIN_REFUSED
        ):
            return SinkRefused(connection_errors.WAY, servers=servers, why=error.message)
        return SinkUnavailable(
            connection_errors.WAY, answered=False, servers=servers, why=error.message
        )
    for kind, code in _REFUSALS.items():
        if isinstance(error, kind):
            if renewed and code is kafka_errors.LOGIN:
                return SinkUnavailable(code, answered=False, servers=servers, doing=doing)
            return SinkRefused(code, servers=servers, doing=doing)
    answered = isinstance(error, errors.KafkaError) and not isinstance(error, _NO_ANSWER)
    why = error.message if isinstance(error, TimedOut) else str(error)
    return SinkUnavailable(
        kafka_errors.UNAVAILABLE,
        answered=answered,
        superseded=isinstance(error, errors.UnknownError),
        servers=servers,
        doing=doing,
        why=why,
    )


def open_transaction_timeout(consumer: Any, partition: TopicPartition, end: int) -> TimedOut:
    """Return that a transaction hides a partition from the position of `consumer` to `end`."""
    return TimedOut(
        kafka_errors.OPEN_TRANSACTION,
        topic=partition.topic,
        partition=partition.partition,
        start=consumer.position(partition),
        end=end,
    )


class Interrupted(KafkaError):  # type: ignore[misc]  # the library has no types
    """A thread beside the producer knows why its wait is in vain."""

    def __init__(self, error: ConnectorError) -> None:
        self.error = error
        super().__init__(str(error))


def creating(*topics: str) -> Message:
    """Return the name of the attempt to create topics."""
    return Message(connection_errors.CREATE_TOPICS, {"topics": topics})


def creating_tables() -> Message:
    """Return the name of the check whether topics of tables can be created."""
    return Message(connection_errors.CREATE_TABLES, {})


def reading(*topics: str) -> Message:
    """Return the name of the attempt to read topics."""
    return Message(connection_errors.READ_TOPICS, {"topics": topics})


def writing(topic: str) -> Message:
    """Return the name of the attempt to send a record."""
    return Message(connection_errors.WRITE_TOPIC, {"topic": topic})


def taking_over(transactional_id: str) -> Message:
    """Return the name of the attempt to fence older instances."""
    return Message(connection_errors.TAKE_OVER, {"id": transactional_id})


def committing() -> Message:
    """Return the name of the attempt to commit a transaction."""
    return Message(connection_errors.COMMIT, {})


def aborting() -> Message:
    """Return the name of the attempt to abort a transaction."""
    return Message(connection_errors.ABORT, {})


def looking_at_limits() -> Message:
    """Return the name of the comparison of settings and brokers."""
    return Message(connection_errors.LOOK_AT_LIMITS, {})


@dataclass(frozen=True, slots=True)
class KafkaClients:
    """The functions that open each kind of client; they raise KafkaError or OSError."""

    # A client's arguments, the transactional id, its timeout in seconds, and the compression.
    open_producer: Callable[[dict[str, Any], str, float, str], TransactionalProducer]
    # The client's arguments; kafka-python has no types.
    open_consumer: Callable[..., Any]
    open_admin: Callable[..., Any]
    # Runs what need not be waited for.
    background: Background = in_thread


KAFKA_CLIENTS = KafkaClients(TransactionalProducer, KafkaConsumer, KafkaAdminClient)
