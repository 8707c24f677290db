"""kafka-python's network client, which says within seconds why Kafka cannot be reached.

The original tries until its timeout, and then reports that it reached no broker, whatever the
reason. This client stops once each address has failed, and looks for the reason. Its callers
retry what may pass.

For most mismatches of the listener's protocol and the `[kafka]` settings, a client only sees that
the connection ends. So the listener is asked once more. The response to SaslHandshake says
whether it takes a login, and by which mechanisms; a TLS listener answers plain bytes with an
alert.

https://kafka.apache.org/protocol#The_Messages_SaslHandshake
"""

import socket
import ssl
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import Any

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport

from connector.foundation.errors.code import End
from connector.foundation.errors.message import Message
from connector.stream.sink import connection_errors

# Seconds for each of: connection, TLS, response.
_SECONDS = 3.0
_SASL_HANDSHAKE = 17
_CLIENT = b"binlog-connector"
_CORRELATION = 7
_NO_LOGIN_HERE = 34  # ILLEGAL_SASL_STATE
_LENGTH_BYTES = 4
# Length, correlation id, error, count of mechanisms.
_ANSWER_HEAD = struct.Struct(">iihi")
_ANSWER_BYTES_MAX = 4096
# The type of the TLS record, and the first byte of its version.
_TLS_ALERT = b"\x15\x03"


def listener_problem(host: str, port: int, config: Mapping[str, Any]) -> Message | None:
    """Return why a client with `config` cannot use the listener; None if no reason is found."""
    protocol = config["security_protocol"]
    try:
        if protocol.endswith("SSL"):
            server_hello = _by_tls(host, port, config)
            return (
                server_hello
                if isinstance(server_hello, Message)
                else _compared(server_hello, config, tls=True)
            )
        answer = _asked_plainly(host, port)
        mechanisms = _mechanisms(answer)
        if mechanisms is not None:
            return _compared(mechanisms, config, tls=False)
        mechanisms = _mechanisms(_asked_unverified(host, port))
    except socket.gaierror as error:
        return _unresolved(error)
    except OSError as error:
        return Message(connection_errors.NO_CONNECTION, {"why": _reason(error)})
    if mechanisms is None and not answer.startswith(_TLS_ALERT):
        return Message(connection_errors.NOT_KAFKA, {})
    login = protocol.startswith("SASL") if mechanisms is None else bool(mechanisms)
    return Message(
        connection_errors.TLS_ALONE,
        {"protocol": protocol, "right": _protocol(tls=True, login=login)},
    )


def _by_tls(host: str, port: int, config: Mapping[str, Any]) -> list[str] | Message:
    """Return the listener's SASL mechanisms; an empty list if it takes no login."""
    # The client's own function, so that both verify the certificate in the same way.
    context = KafkaSSLTransport._build_ssl_context(config)
    with _connected(host, port) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=host.rstrip(".")) as session:
                mechanisms = _mechanisms(_asked(session))
        except ssl.SSLCertVerificationError as error:
            verdict = error.verify_message.rstrip(".")
            return Message(connection_errors.CERTIFICATE, {"why": verdict})
        except OSError as error:
            why = error.reason if isinstance(error, ssl.SSLError) else None
            why = why or _reason(error)
        else:
            return Message(connection_errors.NOT_KAFKA, {}) if mechanisms is None else mechanisms
    if "CERTIFICATE" in why or "UNKNOWN_CA" in why:
        return Message(connection_errors.CLIENT_CERTIFICATE, {})
    mechanisms = _mechanisms(_asked_plainly(host, port))
    if mechanisms is None:
        return Message(connection_errors.NO_SESSION, {"why": why})
    right = _protocol(tls=False, login=bool(mechanisms))
    return Message(
        connection_errors.NO_TLS, {"protocol": config["security_protocol"], "right": right}
    )


def _compared(mechanisms: list[str], config: Mapping[str, Any], *, tls: bool) -> Message | None:
    protocol, wanted = config["security_protocol"], config["sasl_mechanism"]
    login = protocol.startswith("SASL")
    right = _protocol(tls=tls, login=bool(mechanisms))
    if mechanisms and not login:
        return Message(
            connection_errors.WANTS_LOGIN,
            {"offered": mechanisms, "protocol": protocol, "right": right},
        )
    if login and not mechanisms:
        return Message(connection_errors.TAKES_NO_LOGIN, {"protocol": protocol, "right": right})
    if login and wanted not in mechanisms:
        return Message(
            connection_errors.OTHER_MECHANISM, {"offered": mechanisms, "mechanism": wanted}
        )
    return None


def _protocol(*, tls: bool, login: bool) -> str:
    return ("SASL_" if login else "") + ("SSL" if tls else "PLAINTEXT")


def _connected(host: str, port: int) -> socket.socket:
    return socket.create_connection((host, port), timeout=_SECONDS)


def _asked_plainly(host: str, port: int) -> bytes:
    with _connected(host, port) as plain:
        try:
            return _asked(plain)
        except OSError:
            return b""


def _asked_unverified(host: str, port: int) -> bytes:
    """Return a listener's response in TLS, without checking who it is: it learns nothing of us."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with _connected(host, port) as plain, suppress(OSError), context.wrap_socket(plain) as session:
        return _asked(session)
    return b""


def _asked(session: socket.socket) -> bytes:
    """Return the response to a SaslHandshake that names no mechanism."""
    head = struct.pack(">hhih", _SASL_HANDSHAKE, 1, _CORRELATION, len(_CLIENT))
    request = head + _CLIENT + struct.pack(">h", 0)
    session.sendall(struct.pack(">i", len(request)) + request)
    answer = b""
    while len(answer) < _ANSWER_BYTES_MAX:
        received = session.recv(_ANSWER_BYTES_MAX)
        answer += received
        if not received or answer.startswith(_TLS_ALERT) or _is_whole(answer):
            break
    return answer


def _is_whole(answer: bytes) -> bool:
    length = _LENGTH_BYTES
    return len(answer) >= length and len(answer) >= length + int.from_bytes(answer[:length])


def _mechanisms(answer: bytes) -> list[str] | None:
    """Return the mechanisms of a response, none without a login; None if it is no response."""
    if not _is_whole(answer) or len(answer) < _ANSWER_HEAD.size:
        return None
    _, correlation, error, count = _ANSWER_HEAD.unpack_from(answer)
    if correlation != _CORRELATION:
        return None
    if error == _NO_LOGIN_HERE:
        return []
    texts = []
    at = _ANSWER_HEAD.size
    for _ in range(count):
        end = at + 2 + int.from_bytes(answer[at : at + 2])
        texts.append(answer[at + 2 : end].decode(errors="replace"))
        at = end
    return texts


def _unresolved(error: socket.gaierror) -> Message:
    if error.errno == socket.EAI_AGAIN:
        return Message(connection_errors.NO_NAME_NOW, {})
    return Message(connection_errors.NO_NAME, {})


def _reason(error: OSError) -> str:
    return "timed out" if isinstance(error, TimeoutError) else error.strerror or str(error)


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


class BrokersUnreachable(errors.KafkaConnectionError):  # type: ignore[misc]  # the library has no types
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


class ConnectionManager(KafkaConnectionManager):  # type: ignore[misc]  # the library has no types
    """Connections that give up after every address has failed."""

    def __init__(self, selector: NetworkSelector, /, **settings: Any) -> None:
        """Connect with `selector`, by the settings of a client."""
        super().__init__(selector, **settings)
        self._failures: dict[object, Exception] = {}
        self._give_up_at = time.monotonic() + _PATIENCE_SECONDS

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

    def _reason(self) -> BrokersUnreachable | None:
        """Return why no address accepts the connection; None if that is unknown."""
        obstacles: dict[str, Message] = {}
        for broker in self.cluster.bootstrap_brokers():
            if isinstance(self._failures.get(broker.node_id), errors.SaslAuthenticationFailedError):
                obstacle: Message | None = Message(connection_errors.LOGIN_REFUSED, {})
            else:
                obstacle = listener_problem(broker.host, broker.port, self.config)
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

    def _unreached(self, failures: list[tuple[str, int, str]]) -> BrokersUnreachable:
        addresses = []
        for host, port, error in sorted(failures):
            facts = {
                "address": f"{host}:{port}",
                "why": listener_problem(host, port, self.config) or error,
            }
            addresses.append(Message(connection_errors.AT_ADVERTISED, facts))
        return BrokersUnreachable(
            Message(connection_errors.ADVERTISED, {"addresses": addresses}), definite=False
        )


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
    client = kind(selector, ConnectionManager(selector, **settings), **settings)
    client.cluster.config["retry_backoff_ms"] = _METADATA_BACKOFF_MS
    # Otherwise a broker that is asked for a deleted topic makes it again, with its own number of
    # partitions. The clients drop their setting of this name.
    client.cluster.config["allow_auto_create_topics"] = False
    return client
