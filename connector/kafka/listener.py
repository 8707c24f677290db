"""Why a listener of Kafka does not fit the settings: asked once more, by plain sockets.

For most mismatches of the listener's protocol and the `[kafka]` settings, a client only sees that
the connection ends. The response to SaslHandshake says whether the listener takes a login, and by
which mechanisms; a TLS listener answers plain bytes with an alert.

https://kafka.apache.org/protocol#The_Messages_SaslHandshake
"""

import socket
import ssl
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from connector.foundation.errors.message import Message
from connector.kafka import connection_errors

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


def listener_problem(
    host: str, port: int, config: Mapping[str, Any], tls_context: Callable[[], ssl.SSLContext]
) -> Message | None:
    """Return why a client with `config` cannot use the listener; None if no reason is found.

    `tls_context` returns what the client verifies certificates with.
    """
    protocol = config["security_protocol"]
    try:
        if protocol.endswith("SSL"):
            server_hello = _by_tls(host, port, config, tls_context())
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
    except UnicodeError:
        # A name of DNS has no label that is empty or longer than 63 characters.
        return Message(connection_errors.NO_NAME, {})
    except OSError as error:
        return Message(connection_errors.NO_CONNECTION, {"why": _reason(error)})
    if mechanisms is None and not answer.startswith(_TLS_ALERT):
        return Message(connection_errors.NOT_KAFKA, {})
    login = protocol.startswith("SASL") if mechanisms is None else bool(mechanisms)
    return Message(
        connection_errors.TLS_ALONE,
        {"protocol": protocol, "right": _protocol(tls=True, login=login)},
    )


def _by_tls(
    host: str, port: int, config: Mapping[str, Any], context: ssl.SSLContext
) -> list[str] | Message:
    """Return the listener's SASL mechanisms; an empty list if it takes no login."""
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
    until = time.monotonic() + _SECONDS
    answer = b""
    while len(answer) < _ANSWER_BYTES_MAX:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        session.settimeout(left)
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
        if at >= len(answer):
            return None
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
