"""The `[kafka]` settings become the arguments of kafka-python's clients, and its errors ours."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from kafka import errors

from connector.errors import ConfigError, ConnectorError, SinkRefused, SinkUnavailable
from connector.sink.network import NoWayIn, network_client

if TYPE_CHECKING:
    from pathlib import Path

    from connector.settings.sections import KafkaSettings

_TOO_LARGE = (
    "a record is larger than Kafka takes: raise kafka.record_bytes_max, and max.message.bytes of "
    "the topic where it existed before"
)

# Repeating cannot help with these; the text says what will.
_REFUSALS: dict[type[errors.KafkaError], str] = {
    errors.TopicAuthorizationFailedError: (
        "the user lacks rights on it: allow CREATE, DESCRIBE, READ and WRITE on topics that start "
        "with kafka.topic_prefix, or create the topic beforehand"
    ),
    errors.ClusterAuthorizationFailedError: (
        "the user lacks rights on the cluster: allow CREATE and IDEMPOTENT_WRITE"
    ),
    errors.TransactionalIdAuthorizationFailedError: (
        "the user may not use this transactional id: allow DESCRIBE and WRITE on transactional "
        "ids that start with binlog-connector"
    ),
    errors.SaslAuthenticationFailedError: (
        "authentication failed: check kafka.sasl_username and kafka.sasl_password"
    ),
    errors.UnsupportedSaslMechanismError: "check kafka.sasl_mechanism against the brokers' setting",
    errors.InvalidTransactionTimeoutError: (
        "kafka.transaction_timeout_seconds is above the brokers' transaction.max.timeout.ms: "
        "lower the one or raise the other"
    ),
    errors.InvalidPartitionsError: "check kafka.partitions",
    errors.PolicyViolationError: (
        "a create.topic.policy of the brokers forbids it: create the topic beforehand"
    ),
    errors.InvalidTopicError: "Kafka does not accept the topic's name: check kafka.topic_prefix",
    errors.MessageSizeTooLargeError: _TOO_LARGE,
    errors.RecordListTooLargeError: _TOO_LARGE,
    errors.UnsupportedVersionError: "the brokers are too old: Kafka 2.5 or newer is needed",
}


def client_settings(settings: KafkaSettings) -> dict[str, Any]:
    """Return what producer, consumer and admin client have in common.

    Raises ConfigError for a file that cannot be used.
    """
    arguments: dict[str, Any] = {
        "bootstrap_servers": settings.bootstrap_servers,
        "client_id": "binlog-connector",
        "security_protocol": settings.security_protocol,
        "request_timeout_ms": int(settings.request_timeout_seconds * 1000),
        "bootstrap_timeout_ms": int(settings.request_timeout_seconds * 1000),
        # The default backs off up to 30 s, which is how long a broker's restart would be felt.
        "reconnect_backoff_max_ms": 1000,
        "kafka_client": network_client,
    }
    if settings.sasl_mechanism is not None:
        arguments |= {
            "sasl_mechanism": settings.sasl_mechanism,
            "sasl_plain_username": settings.sasl_username,
            "sasl_plain_password": settings.read_sasl_password(),
        }
    files = {
        "ssl_cafile": ("ssl_ca", settings.ssl_ca),
        "ssl_certfile": ("ssl_certificate", settings.ssl_certificate),
        "ssl_keyfile": ("ssl_key", settings.ssl_key),
    }
    for name, (key, path) in files.items():
        if path is not None:
            _require_file(key, path)
            arguments[name] = str(path)
    _require_certificates(settings)
    return arguments


def _require_file(key: str, path: Path) -> None:
    """Raise ConfigError for a file that cannot be read: to the client, it is like a dead broker."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise _unusable(path, key, error.strerror) from error


def _require_certificates(settings: KafkaSettings) -> None:
    """Raise ConfigError for files that are no certificates: to the client, they are like that."""
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
    return ConfigError(
        f"kafka.{key} {path}: {why or 'not a PEM file'}: name a PEM file that this user may read"
    )


# Nobody said no.
_NO_ANSWER = (errors.KafkaTimeoutError, errors.KafkaConnectionError, errors.NodeNotReadyError)


# What Kafka says to a producer whose transactional id another one has taken over, or whose
# transaction it has aborted because its time ran out.
_SUPERSEDED = (errors.ProducerFencedError, errors.InvalidProducerEpochError)


def is_superseded(error: Exception) -> bool:
    """Return whether `error` says that another producer may have taken over."""
    return any(_is(error, kind) for kind in _SUPERSEDED)


def connector_error(
    settings: KafkaSettings, doing: str, error: errors.KafkaError | OSError
) -> ConnectorError:
    """Return our error for kafka-python's, raised while `doing` something."""
    servers = f"kafka {','.join(settings.bootstrap_servers)}"
    if isinstance(error, NoWayIn):
        return _no_way_in(servers, error)
    where = f"{servers}: cannot {doing}"
    for kind, fix in _REFUSALS.items():
        if _is(error, kind):
            return SinkRefused(f"{where}: {fix}")
    unavailable = SinkUnavailable(
        f"{where}: {error}; check kafka.bootstrap_servers, kafka.security_protocol, kafka.sasl_* "
        "and that the brokers are up"
    )
    unavailable.answered = isinstance(error, errors.KafkaError) and not any(
        _is(error, kind) for kind in _NO_ANSWER
    )
    return unavailable


def _no_way_in(servers: str, error: NoWayIn) -> ConnectorError:
    if error.definite:
        return SinkRefused(f"{servers}: {error.reason}")
    unavailable = SinkUnavailable(f"{servers}: {error.reason}")
    unavailable.answered = False
    return unavailable


def _is(error: Exception, kind: type[errors.KafkaError]) -> bool:
    """Return whether `error` is of `kind`; the transaction manager puts only its name in a text."""
    return isinstance(error, kind) or kind.__name__ in str(error)
