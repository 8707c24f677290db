"""kafka-python's network client, which says in a few seconds why Kafka cannot be reached.

The original tries until its time is up, and then says that no broker was reached, whatever stood in
the way. This one gives up once each address has failed, and looks for the reason. Its callers
repeat what may pass.
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
# A broker that starts may come in this time.
_PATIENCE_SECONDS = 2.0
# For a connection with its login; the original gives the first address all the time there is.
_CONNECT_SECONDS_MAX = 10.0
_MS = 1000
# Of the login, before anything was asked for.
_LOGIN_REFUSALS = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError)


class NoWayIn(errors.KafkaConnectionError):  # type: ignore[misc]  # the library has no types
    """No broker lets us in, and this is why."""

    def __init__(self, message: Message, *, definite: bool) -> None:
        """Take what to say after the addresses, and whether repeating cannot help."""
        super().__init__(message.text)
        self.message = message
        self.definite = definite


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
    """Connections that give up once every address has failed."""

    def __init__(self, selector: NetworkSelector, /, **settings: Any) -> None:
        """Connect with `selector`, by the settings of a client."""
        super().__init__(selector, **settings)
        self._failures: dict[object, Exception] = {}
        self._give_up_at = time.monotonic() + _PATIENCE_SECONDS

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = True) -> None:
        """Find the brokers, and connect to one of them.

        Raises NoWayIn if the reason is found why that is not possible, and what the original raises
        otherwise. Then the client is closed: the original leaves a thread and sockets.
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
        """Return the connection to a broker, which may still have to be made."""
        if not self.cluster.is_bootstrap(node_id):
            return super().get_connection(node_id, timeout_ms, **arguments)
        if self._is_hopeless():
            raise next(iter(self._failures.values()))
        if timeout_ms is not None:
            timeout_ms = min(timeout_ms, _CONNECT_SECONDS_MAX * _MS)
        connection = super().get_connection(node_id, timeout_ms, **arguments)
        take = partial(self._take_failure, node_id)
        connection.init_future.add_errback(take)
        # A listener that wants a login ends the connection at the first question.
        connection.close_future.add_errback(take)
        return connection

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        transport = super()._build_transport(node, timeout_at)
        if timeout_at is None:
            transport = await transport
        else:
            # The original waits for the answer of TLS without an end. Its socket is closed when
            # it is forgotten.
            left_ms = max(0.0, timeout_at - time.monotonic()) * _MS
            transport = await self.wait_for(self.call_soon(transport), left_ms)
        # A broker closes the connection as soon as it has refused a login. Of what comes together
        # with the end, the original keeps the end alone.
        transport._sock_recv = partial(_received, transport._sock_recv)
        return transport

    def _take_failure(self, node_id: object, error: Exception) -> None:
        # What a login was refused by tells more than what comes of the next attempt.
        if not isinstance(self._failures.get(node_id), _LOGIN_REFUSALS):
            self._failures[node_id] = error

    def _is_hopeless(self) -> bool:
        if len(self._failures) < len(self.cluster.bootstrap_brokers()):
            return False
        return time.monotonic() >= self._give_up_at or all(
            isinstance(failure, _LOGIN_REFUSALS) for failure in self._failures.values()
        )

    def _reason(self) -> NoWayIn | None:
        """Return why no address lets us in; None if that is not known."""
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
        """Connect to one broker at the address that it gave; return host, port and why of all."""
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
    """Receive, and let the end wait for the next time where there is something before it."""
    data, end = receive()
    return data, None if data else end


def producers_client(**settings: Any) -> KafkaNetClient:
    """Return a network client for a transactional producer."""
    return _client(_ProducersClient, settings)


def network_client(**settings: Any) -> KafkaNetClient:
    """Return a network client."""
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
