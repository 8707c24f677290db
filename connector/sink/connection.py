"""The `[kafka]` settings become the arguments of kafka-python's clients, and its errors ours."""

from __future__ import annotations

import ssl
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from connector.errors import ConfigError, ConnectorError, SinkRefused, SinkUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from connector.config import KafkaSettings

_METADATA_BACKOFF_MS = 10
# Between two attempts of a producer to reach a broker.
_UNREACHABLE_SECONDS = 0.05

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
    errors.InvalidReplicationFactorError: (
        "kafka.replication_factor is above the number of brokers: lower it"
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
# Of the login, before anything was asked for.
_LOGIN_REFUSALS = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError)


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
        "kafka_client": _network_client,
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


class _ProducersClient(KafkaNetClient):  # type: ignore[misc]  # the library has no types
    """A client that says no where a node cannot be reached.

    The original raises, and the producer's thread, which asks before it sends a transactional
    request, then drops that request: the transaction would hang until its time runs out.
    """

    def await_ready(self, node_id: object, timeout_ms: float = 30_000) -> bool:
        """Wait until a node can be sent to; return whether it can."""
        try:
            return bool(super().await_ready(node_id, timeout_ms))
        except errors.KafkaConnectionError:
            # Its caller asks again at once.
            time.sleep(_UNREACHABLE_SECONDS)
            return False


class _Connections(KafkaConnectionManager):  # type: ignore[misc]  # the library has no types
    """Connections that give up once every broker has refused the login.

    The originals begin anew until their time is up, and then say that no broker was reached.
    """

    def __init__(self, selector: NetworkSelector, /, **settings: Any) -> None:
        """Connect with `selector`, by the settings of a client."""
        super().__init__(selector, **settings)
        self._refusals: dict[object, errors.KafkaError] = {}

    def get_connection(self, node_id: object, **arguments: Any) -> Any:
        """Return the connection to a broker, which may still have to be made."""
        if len(self._refusals) == len(self.cluster.bootstrap_brokers()):
            raise next(iter(self._refusals.values()))
        connection = super().get_connection(node_id, **arguments)
        if self.cluster.is_bootstrap(node_id):
            connection.init_future.add_errback(self._take_failure, node_id)
        return connection

    async def _build_transport(self, *arguments: Any, **named: Any) -> Any:
        transport = await super()._build_transport(*arguments, **named)
        # A broker closes the connection as soon as it has refused a login. Of what comes together
        # with the end, the original keeps the end alone.
        transport._sock_recv = partial(_received, transport._sock_recv)  # noqa: SLF001
        return transport

    def _take_failure(self, node_id: object, error: Exception) -> None:
        if isinstance(error, _LOGIN_REFUSALS):
            self._refusals[node_id] = error


def _received(
    receive: Callable[[], tuple[bytes, Exception | None]],
) -> tuple[bytes, Exception | None]:
    """Receive, and let the end wait for the next time where there is something before it."""
    data, end = receive()
    return data, None if data else end


def producers_client(**settings: Any) -> KafkaNetClient:
    """Return a network client for a transactional producer."""
    return _client(_ProducersClient, settings)


def _network_client(**settings: Any) -> KafkaNetClient:
    return _client(KafkaNetClient, settings)


def _client(kind: type[KafkaNetClient], settings: dict[str, Any]) -> KafkaNetClient:
    """Return a client that asks for metadata when they are needed.

    The default is not before 100 ms after the last time, which each new client and each new topic
    would wait for; no setting of the clients reaches this one.
    """
    selector = NetworkSelector(**settings)
    client = kind(selector, _Connections(selector, **settings), **settings)
    client.cluster.config["retry_backoff_ms"] = _METADATA_BACKOFF_MS
    return client


# Nobody said no.
_NO_ANSWER = (errors.KafkaTimeoutError, errors.KafkaConnectionError, errors.NodeNotReadyError)


def connector_error(
    settings: KafkaSettings, doing: str, error: errors.KafkaError | OSError
) -> ConnectorError:
    """Return our error for kafka-python's, raised while `doing` something."""
    where = f"kafka {','.join(settings.bootstrap_servers)}: cannot {doing}"
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


def _is(error: Exception, kind: type[errors.KafkaError]) -> bool:
    """Return whether `error` is of `kind`; the transaction manager puts only its name in a text."""
    return isinstance(error, kind) or kind.__name__ in str(error)
