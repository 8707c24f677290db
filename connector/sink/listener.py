"""Compares the protocol of a Kafka listener with the `[kafka]` settings.

For most mismatches, a client only sees that the connection ends. So this module asks the listener
once more. The response to SaslHandshake says whether it takes a login, and by which mechanisms; a
TLS listener answers plain bytes with an alert.

https://kafka.apache.org/protocol#The_Messages_SaslHandshake
"""

from __future__ import annotations

import socket
import ssl
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafka.net.transport import KafkaSSLTransport

from connector.errors import kafka_network
from connector.errors.message import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def obstacle_at(host: str, port: int, config: Mapping[str, Any]) -> Message | None:
    """Return why a client with `config` cannot use the listener; None if no reason is found."""
    protocol = config["security_protocol"]
    try:
        if protocol.endswith("SSL"):
            found = _by_tls(host, port, config)
            return found if isinstance(found, Message) else _compared(found, config, tls=True)
        answer = _asked_plainly(host, port)
        mechanisms = _mechanisms(answer)
        if mechanisms is not None:
            return _compared(mechanisms, config, tls=False)
        mechanisms = _mechanisms(_asked_unverified(host, port))
    except socket.gaierror as error:
        return _unresolved(error)
    except OSError as error:
        return Message(kafka_network.NO_CONNECTION, {"why": _reason(error)})
    if mechanisms is None and not answer.startswith(_TLS_ALERT):
        return Message(kafka_network.NOT_KAFKA, {})
    login = protocol.startswith("SASL") if mechanisms is None else bool(mechanisms)
    return Message(
        kafka_network.TLS_ALONE,
        {"protocol": protocol, "right": _protocol(tls=True, login=login)},
    )


def _by_tls(host: str, port: int, config: Mapping[str, Any]) -> list[str] | Message:
    """Return the listener's SASL mechanisms; an empty list if it takes no login."""
    # The client's own function, so that both verify the certificate in the same way.
    context = KafkaSSLTransport._build_ssl_context(config)  # noqa: SLF001
    with _connected(host, port) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=host.rstrip(".")) as session:
                mechanisms = _mechanisms(_asked(session))
        except ssl.SSLCertVerificationError as error:
            verdict = error.verify_message.rstrip(".")
            return Message(kafka_network.CERTIFICATE, {"why": verdict})
        except OSError as error:
            why = error.reason if isinstance(error, ssl.SSLError) else None
            why = why or _reason(error)
        else:
            return Message(kafka_network.NOT_KAFKA, {}) if mechanisms is None else mechanisms
    if "CERTIFICATE" in why or "UNKNOWN_CA" in why:
        return Message(kafka_network.CLIENT_CERTIFICATE, {})
    mechanisms = _mechanisms(_asked_plainly(host, port))
    if mechanisms is None:
        return Message(kafka_network.NO_SESSION, {"why": why})
    right = _protocol(tls=False, login=bool(mechanisms))
    return Message(kafka_network.NO_TLS, {"protocol": config["security_protocol"], "right": right})


def _compared(mechanisms: list[str], config: Mapping[str, Any], *, tls: bool) -> Message | None:
    protocol, wanted = config["security_protocol"], config["sasl_mechanism"]
    login = protocol.startswith("SASL")
    right = _protocol(tls=tls, login=bool(mechanisms))
    if mechanisms and not login:
        return Message(
            kafka_network.WANTS_LOGIN,
            {"offered": mechanisms, "protocol": protocol, "right": right},
        )
    if login and not mechanisms:
        return Message(kafka_network.TAKES_NO_LOGIN, {"protocol": protocol, "right": right})
    if login and wanted not in mechanisms:
        return Message(kafka_network.OTHER_MECHANISM, {"offered": mechanisms, "mechanism": wanted})
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
    found = []
    at = _ANSWER_HEAD.size
    for _ in range(count):
        end = at + 2 + int.from_bytes(answer[at : at + 2])
        found.append(answer[at + 2 : end].decode(errors="replace"))
        at = end
    return found


def _unresolved(error: socket.gaierror) -> Message:
    if error.errno == socket.EAI_AGAIN:
        return Message(kafka_network.NO_NAME_NOW, {})
    return Message(kafka_network.NO_NAME, {})


def _reason(error: OSError) -> str:
    return "timed out" if isinstance(error, TimeoutError) else error.strerror or str(error)
