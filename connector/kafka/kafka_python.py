"""What we use of kafka-python that is not public: nothing else in the product does.

kafka-python connects and logs in, with every mechanism that it knows. `connect` and `find_brokers`
take its socket over. Its admin clients and consumers use `network_client`, which says within
seconds why Kafka cannot be reached.

The original tries until its timeout, and then reports that it reached no broker, whatever the
reason. Here an attempt stops once each address has failed, and `listener` looks for the reason.
Callers retry what may pass. The original also connects twice to a broker whose own address is in
`bootstrap_servers`; here the first connection stays.

If `bootstrap_servers` names a folder, each connection leads to the server of the log in it, which
may be this process (`folder/door.py`).

`tests/kafka/test_kafka_python.py` says which of these names a release of kafka-python has changed.
"""

import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.api_message import VersionSubscriptable

from connector.foundation.errors.code import End
from connector.foundation.errors.message import Message
from connector.foundation.settings.log_folder import folder_of
from connector.kafka import connection_errors
from connector.kafka.failures import BrokersUnreachable
from connector.kafka.folder.results import HOST, PORT
from connector.kafka.listener import listener_problem

# ruff: noqa: SLF001 - all of them are here

_METADATA_BACKOFF_MS = 10
# A starting broker may answer within this time.
_PATIENCE_SECONDS = 2.0
# For a connection with its login; the original spends the whole timeout on the first address.
_CONNECT_SECONDS_MAX = 10.0
# The same for a broker that has answered before.
_SETUP_SECONDS_MAX = 5.0
_MS = 1000
# So many addresses are asked at a time why they are not reached.
_ASKED_MAX = 32
# A refused login, before any request.
_LOGIN_REFUSALS = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError)

# Stands for a connection that the original is about to close.
_KEPT = SimpleNamespace(close=lambda: None)


_VERSIONS_LOCK = threading.RLock()
_version_of = VersionSubscriptable.__getitem__


def _version_in_turn(message: Any, version: int | None) -> Any:
    with _VERSIONS_LOCK:
        return _version_of(message, version)


# The original makes the class of a response's version when one first arrives, and knows the newest
# class by a weak reference. If two threads make it at the same time, it may know the one that is
# thrown away; from then on no such response can be read until the process ends.
VersionSubscriptable.__getitem__ = _version_in_turn


class ConnectionManager(KafkaConnectionManager):  # type: ignore[misc]  # the library has no types
    """Connections that give up after every address has failed."""

    def __init__(self, selector: NetworkSelector, /, **settings: Any) -> None:
        """Connect with `selector`, by the settings of a client."""
        folder = folder_of(settings["bootstrap_servers"])
        self._door = None if folder is None else _door_of(folder)
        if self._door is not None:
            # The original reads addresses of it.
            settings["bootstrap_servers"] = [f"{HOST}:{PORT}"]
        super().__init__(selector, **settings)
        self._failures: dict[object, Exception] = {}
        self._give_up_at = time.monotonic() + _PATIENCE_SECONDS
        # The connection to a broker at its announced address.
        self.reached: Any = None

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = True) -> None:
        """Find the brokers and connect to one of them.

        Raises BrokersUnreachable if the reason of a failure is found, else the errors of the
        original. Then the client is closed, because the original leaves a thread and sockets.
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
        take = partial(self._take_failure, connection)
        connection.init_future.add_errback(take)
        # A listener that wants a login ends the connection at the first request.
        connection.close_future.add_errback(take)
        return connection

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        if self._door is not None:
            return _FolderTransport(self._net, self._door.connect(), host=node.host)
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

    def reset_backoff(self, node_id: object) -> None:
        """Forget failed attempts; the original calls it for an address that named the brokers.

        Then it closes the connection. If a broker announces just this address, that would be
        reached once more, so the connection becomes the one to this broker.
        """
        super().reset_backoff(node_id)
        if not self.cluster.is_bootstrap(node_id):
            return
        here = self.cluster.broker_metadata(node_id)
        for broker in self.cluster.brokers():
            if (broker.host, broker.port) == (here.host, here.port):
                self._keep(node_id, broker.node_id)

    def _keep(self, bootstrap_id: object, node_id: object) -> None:
        """Let the connection to an address of the settings be the one to a broker."""
        if node_id in self._conns:
            return
        connection = self._conns[bootstrap_id]
        self._conns[bootstrap_id] = _KEPT
        self._conns[node_id] = connection
        connection.node_id = node_id
        # As for each connection to a broker.
        connection.close_future.add_both(lambda _: self._conns.pop(node_id, None))
        connection.close_future.add_errback(lambda _: self.cluster.request_update())

    def _take_failure(self, connection: Any, error: Exception) -> None:
        node_id = connection.node_id
        # The refusal of a login says more than the result of the next attempt.
        if self.cluster.is_bootstrap(node_id) and not isinstance(
            self._failures.get(node_id), _LOGIN_REFUSALS
        ):
            self._failures[node_id] = error

    def _is_hopeless(self) -> bool:
        if len(self._failures) < len(self.cluster.bootstrap_brokers()):
            return False
        return time.monotonic() >= self._give_up_at or all(
            isinstance(failure, _LOGIN_REFUSALS) for failure in self._failures.values()
        )

    def _reason(self) -> BrokersUnreachable | None:
        """Return why no address accepts the connection; None if that is unknown."""
        if self._door is not None:
            failures = self._failures.values()
            for each in failures:
                if isinstance(each, BrokersUnreachable):
                    return each
            # The system accepts connections for a process that is stopped, too.
            is_late = any(isinstance(each, errors.RequestTimedOutError) for each in failures)
            return self._door.unanswered() if is_late else None
        obstacles: dict[str, Message] = {}
        for broker in self.cluster.bootstrap_brokers():
            if isinstance(self._failures.get(broker.node_id), errors.SaslAuthenticationFailedError):
                obstacle: Message | None = Message(connection_errors.LOGIN_REFUSED, {})
            else:
                obstacle = _problem(broker.host, broker.port, self.config)
            if obstacle is None:
                return None
            obstacles[f"{broker.host}:{broker.port}"] = obstacle
        different = {obstacle.text: obstacle for obstacle in obstacles.values()}
        definite = all(obstacle.code.end is not End.RETRIED for obstacle in different.values())
        if len(different) == 1:
            return BrokersUnreachable(next(iter(different.values())), definite=definite)
        # The client shuffles them.
        problems = [
            Message(connection_errors.AT_ADDRESS, {"address": address, "why": obstacle})
            for address, obstacle in sorted(obstacles.items(), key=itemgetter(0))
        ]
        return BrokersUnreachable(
            Message(connection_errors.SEVERAL, {"problems": problems}), definite=definite
        )

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
        # One that is connected already comes first.
        brokers = sorted(self.cluster.brokers(), key=lambda each: each.node_id not in self._conns)
        # If it is not reached, the others are tried at the same time: each may take its whole time.
        for group in brokers[:1], brokers[1:]:
            attempts = [
                self._net.call_soon_with_future(self._connected, broker.node_id) for broker in group
            ]
            for broker, attempt in zip(group, attempts, strict=True):
                try:
                    self.reached = await attempt
                except _LOGIN_REFUSALS:
                    raise
                except errors.KafkaError as error:
                    failures.append((broker.host, broker.port, str(error)))
                else:
                    return []
        return failures

    async def _connected(self, node_id: object) -> Any:
        return await self.get_connection(node_id, _CONNECT_SECONDS_MAX * _MS)

    def _unreached(self, failures: list[tuple[str, int, str]]) -> BrokersUnreachable:
        failures.sort()
        with ThreadPoolExecutor(_ASKED_MAX) as pool:
            problems = pool.map(lambda each: _problem(each[0], each[1], self.config), failures)
            addresses = [
                Message(
                    connection_errors.AT_ADVERTISED,
                    {"address": f"{host}:{port}", "why": problem or error},
                )
                for (host, port, error), problem in zip(failures, problems, strict=True)
            ]
        return BrokersUnreachable(
            Message(connection_errors.ADVERTISED, {"addresses": addresses}), definite=False
        )


class _Door(NamedTuple):
    """The way to the server of a folder; both functions are those of `folder/door.py`."""

    connect: Callable[[], socket.socket]
    unanswered: Callable[[], BrokersUnreachable]


def _door_of(folder: Path) -> _Door:
    # With the log that this process may serve: 1 MB.
    from connector.kafka.folder import door  # noqa: PLC0415  # not for brokers

    return _Door(partial(door.connect, folder), partial(door.unanswered, folder))


class _FolderTransport(KafkaTCPTransport):  # type: ignore[misc]  # the library has no types
    """A connection to the server of a folder."""

    def __init__(self, selector: NetworkSelector, connected: socket.socket, host: str) -> None:
        connected.setblocking(False)
        super().__init__(selector, connected, host=host)

    def getPeer(self) -> tuple[str, int]:  # noqa: N802 - the name of the original
        return HOST, PORT

    def host_port(self) -> str:
        return f"{HOST}:{PORT}"


def _received(
    receive: Callable[[], tuple[bytes, Exception | None]],
) -> tuple[bytes, Exception | None]:
    """Receive data; if data comes before the end, report the end at the next call."""
    data, end = receive()
    return data, None if data else end


def _problem(host: str, port: int, config: Mapping[str, Any]) -> Message | None:
    # The client's own function, so that both verify the certificate in the same way.
    return listener_problem(
        host, port, config, lambda: KafkaSSLTransport._build_ssl_context(config)
    )


def network_client(**settings: Any) -> KafkaNetClient:
    """Return a client that requests metadata when they are needed, and lets no broker make topics.

    By default, it waits 100 ms since the last request, for each new client and each new topic. No
    setting of the clients changes this.
    """
    selector = NetworkSelector(**settings)
    client = KafkaNetClient(selector, ConnectionManager(selector, **settings), **settings)
    client.cluster.config["retry_backoff_ms"] = _METADATA_BACKOFF_MS
    # Otherwise a broker that is asked for a deleted topic makes it again, with its own number of
    # partitions. The clients drop their setting of this name.
    client.cluster.config["allow_auto_create_topics"] = False
    return client


def ask(admin: Any, request: Any) -> Any:
    """Have an admin client send a request that it has no function for; return the response."""
    return admin._manager.run(admin._manager.send, request)


class LoggedIn(NamedTuple):
    """A connection that is ready for requests."""

    socket: socket.socket
    # Which versions of each request the broker knows.
    versions: Any


def connect(settings: Mapping[str, Any], host: str, port: int, timeout_seconds: float) -> LoggedIn:
    """Connect to a broker and log in, by the settings of a client; raises KafkaError."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    servers = settings["bootstrap_servers"]
    if folder_of(servers) is None:
        servers = [address]
    with _Connecting(dict(settings) | {"bootstrap_servers": servers}) as (selector, manager):
        (broker,) = manager.cluster.bootstrap_brokers()
        patience_ms = min(timeout_seconds, _SETUP_SECONDS_MAX) * _MS

        async def connected() -> Any:
            return await manager.get_connection(
                broker.node_id, patience_ms, refresh_metadata_on_err=False
            )

        return _taken(selector.run(connected), selector)


def find_brokers(
    settings: Mapping[str, Any], timeout_seconds: float
) -> tuple[dict[int, tuple[str, int]], LoggedIn]:
    """Return host and port of each broker by its id, and a connection to one of them.

    Raises BrokersUnreachable if the reason of a failure is found, else other errors of Kafka.
    """
    with _Connecting(dict(settings)) as (selector, manager):
        manager.bootstrap(timeout_seconds * _MS)
        brokers = {
            int(broker.node_id): (str(broker.host), int(broker.port))
            for broker in manager.cluster.brokers()
        }
        return brokers, _taken(manager.reached, selector)


class _Connecting:
    """An event loop for one connection, which is taken from it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._selector = NetworkSelector(**settings)
        self._manager = ConnectionManager(self._selector, **settings)

    def __enter__(self) -> tuple[Any, ConnectionManager]:
        return self._selector, self._manager

    def __exit__(self, *_: object) -> None:
        self._manager.close()
        self._selector.close()


def _taken(connection: Any, selector: Any) -> LoggedIn:
    """Take the socket from its event loop, which then closes without it."""
    transport = connection.transport
    transport.pause_reading()
    taken: socket.socket = transport._sock
    transport._sock = None
    selector.unregister_event(taken, selectors.EVENT_READ | selectors.EVENT_WRITE)
    return LoggedIn(taken, connection.broker_version_data)
