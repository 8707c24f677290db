"""kafka-python's network client, which says within seconds why Kafka cannot be reached.

The original tries until its timeout, and then reports that it reached no broker, whatever the
reason. This client stops once each address has failed, and looks for the reason. Its callers retry
what may pass.
"""

from __future__ import annotations

import time
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from connector.errors import kafka_network
from connector.errors.code import End
from connector.errors.message import Message
from connector.sink.listener import obstacle_at

if TYPE_CHECKING:
    from collections.abc import Callable

# ruff: noqa: SLF001 - a client has no other way to look at its connections

_METADATA_BACKOFF_MS = 10
# Between two attempts of a producer to reach a broker.
_UNREACHABLE_SECONDS = 0.05
# A starting broker may answer within this time.
_PATIENCE_SECONDS = 2.0
# For a connection with its login; the original spends the whole timeout on the first address.
_CONNECT_SECONDS_MAX = 10.0
_MS = 1000
# A refused login, before any request.
_LOGIN_REFUSALS = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError)


class NoWayIn(errors.KafkaConnectionError):  # type: ignore[misc]  # the library has no types
    """No broker accepts the connection, and this is the reason."""

    def __init__(self, message: Message, *, definite: bool) -> None:
        """`message` is the text after the addresses; `definite` says that a retry cannot help."""
        super().__init__(message.text)
        self.message = message
        self.definite = definite


class _ProducersClient(KafkaNetClient):  # type: ignore[misc]  # the library has no types
    """A client that returns False if a node cannot be reached.

    The original raises. The producer's thread asks before it sends a transactional request, and
    then drops that request, so the transaction would hang until its timeout.
    """

    def await_ready(self, node_id: object, timeout_ms: float = 30_000) -> bool:
        """Wait until the node accepts requests; return whether it does."""
        try:
            return bool(super().await_ready(node_id, timeout_ms))
        except errors.KafkaConnectionError:
            # The caller asks again at once.
            time.sleep(_UNREACHABLE_SECONDS)
            return False


class Connections(KafkaConnectionManager):  # type: ignore[misc]  # the library has no types
    """Connections that give up after every address has failed."""

    def __init__(self, selector: NetworkSelector, /, **settings: Any) -> None:
        """Connect with `selector`, by the settings of a client."""
        super().__init__(selector, **settings)
        self._failures: dict[object, Exception] = {}
        self._give_up_at = time.monotonic() + _PATIENCE_SECONDS

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = True) -> None:
        """Find the brokers and connect to one of them.

        Raises NoWayIn if the reason of a failure is found, else the errors of the original. Then
        the client is closed, because the original leaves a thread and sockets.
        """
        try:
            self._find_brokers(timeout_ms, refresh=refresh)
        except BaseException:
            self.close()
            self._net.close()
            raise

    def get_connection(
        self, node_id: object, timeout_ms: float | None = None, **arguments: Any
    ) -> Any:
        """Return the connection to a broker; it may not be open yet."""
        if not self.cluster.is_bootstrap(node_id):
            return super().get_connection(node_id, timeout_ms, **arguments)
        if self._is_hopeless():
            raise next(iter(self._failures.values()))
        if timeout_ms is not None:
            timeout_ms = min(timeout_ms, _CONNECT_SECONDS_MAX * _MS)
        connection = super().get_connection(node_id, timeout_ms, **arguments)
        take = partial(self._take_failure, node_id)
        connection.init_future.add_errback(take)
        # A listener that wants a login ends the connection at the first request.
        connection.close_future.add_errback(take)
        return connection

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        transport = super()._build_transport(node, timeout_at)
        if timeout_at is None:
            transport = await transport
        else:
            # The original waits for TLS without a limit. When it drops the connection, it closes
            # the socket.
            left_ms = max(0.0, timeout_at - time.monotonic()) * _MS
            transport = await self.wait_for(self.call_soon(transport), left_ms)
        # A broker closes the connection after it has refused a login. If the refusal and the end
        # arrive together, the original keeps only the end.
        transport._sock_recv = partial(_received, transport._sock_recv)
        return transport

    def _take_failure(self, node_id: object, error: Exception) -> None:
        # The refusal of a login says more than the result of the next attempt.
        if not isinstance(self._failures.get(node_id), _LOGIN_REFUSALS):
            self._failures[node_id] = error

    def _is_hopeless(self) -> bool:
        if len(self._failures) < len(self.cluster.bootstrap_brokers()):
            return False
        return time.monotonic() >= self._give_up_at or all(
            isinstance(failure, _LOGIN_REFUSALS) for failure in self._failures.values()
        )

    def _reason(self) -> NoWayIn | None:
        """Return why no address accepts the connection; None if that is unknown."""
        found: dict[str, Message] = {}
        for broker in self.cluster.bootstrap_brokers():
            if isinstance(self._failures.get(broker.node_id), errors.SaslAuthenticationFailedError):
                obstacle: Message | None = Message(kafka_network.LOGIN_REFUSED, {})
            else:
                obstacle = obstacle_at(broker.host, broker.port, self.config)
            if obstacle is None:
                return None
            found[f"{broker.host}:{broker.port}"] = obstacle
        different = {obstacle.text: obstacle for obstacle in found.values()}
        definite = all(obstacle.code.end is not End.RETRIED for obstacle in different.values())
        if len(different) == 1:
            return NoWayIn(next(iter(different.values())), definite=definite)
        # The client shuffles them.
        problems = [
            Message(kafka_network.AT_ADDRESS, {"address": address, "why": obstacle})
            for address, obstacle in sorted(found.items(), key=itemgetter(0))
        ]
        return NoWayIn(Message(kafka_network.SEVERAL, {"problems": problems}), definite=definite)

    def _find_brokers(self, timeout_ms: float | None, *, refresh: bool) -> None:
        try:
            super().bootstrap(timeout_ms, refresh)
        except errors.KafkaError as error:
            reason = self._reason()
            if reason is None:
                raise
            raise reason from error
        failures = self._net.run(self._reach_one)
        if failures:
            raise self._unreached(failures)

    async def _reach_one(self) -> list[tuple[str, int, str]]:
        """Connect to a broker at its announced address; return host, port, reason of each."""
        failures = []
        for broker in self.cluster.brokers():
            try:
                await self.get_connection(broker.node_id, _CONNECT_SECONDS_MAX * _MS)
            except _LOGIN_REFUSALS:
                raise
            except errors.KafkaError as error:
                failures.append((broker.host, broker.port, str(error)))
            else:
                return []
        return failures

    def _unreached(self, failures: list[tuple[str, int, str]]) -> NoWayIn:
        addresses = []
        for host, port, error in sorted(failures):
            facts = {
                "address": f"{host}:{port}",
                "why": obstacle_at(host, port, self.config) or error,
            }
            addresses.append(Message(kafka_network.AT_ADVERTISED, facts))
        return NoWayIn(Message(kafka_network.ADVERTISED, {"addresses": addresses}), definite=False)


def _received(
    receive: Callable[[], tuple[bytes, Exception | None]],
) -> tuple[bytes, Exception | None]:
    """Receive data; if data comes before the end, report the end at the next call."""
    data, end = receive()
    return data, None if data else end


def producers_client(**settings: Any) -> KafkaNetClient:
    """Return a network client for a transactional producer."""
    return _client(_ProducersClient, settings)


def network_client(**settings: Any) -> KafkaNetClient:
    """Return a network client."""
    return _client(KafkaNetClient, settings)


def _client(kind: type[KafkaNetClient], settings: dict[str, Any]) -> KafkaNetClient:
    """Return a client that requests metadata when they are needed, and lets no broker make topics.

    By default, it waits 100 ms since the last request, for each new client and each new topic. No
    setting of the clients changes this.
    """
    selector = NetworkSelector(**settings)
    client = kind(selector, Connections(selector, **settings), **settings)
    client.cluster.config["retry_backoff_ms"] = _METADATA_BACKOFF_MS
    # Otherwise a broker that is asked for a deleted topic makes it again, with its own number of
    # partitions. The clients drop their setting of this name.
    client.cluster.config["allow_auto_create_topics"] = False
    return client
