"""A program that pretends to be a server: it greets, asks for a password, and keeps what comes."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SALT = b"0123456789abcdefghij"
# CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH
_CAPABILITIES = 0x200 | 0x8000 | 0x80000
_TLS = 0x800
_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PUBLIC_KEY = _KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


class Impostor:
    """Answers one login: a greeting that names `method`, then `answers`, one for each packet."""

    def __init__(self, method: str, answers: tuple[bytes, ...], certificate: Path | None) -> None:
        self.received: list[bytes] = []
        self._method = method
        self._answers = answers
        self._certificate = certificate
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def learned(self) -> set[bytes]:
        """Return what the program could take for a password, after the login has ended."""
        self._thread.join()
        return {shown for packet in self.received for shown in _readings(packet)}

    def close(self) -> None:
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            connection.settimeout(10)
            with connection:
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        connection.sendall(_packet(0, _greeting(self._method, tls=self._certificate is not None)))
        if self._certificate is None:
            self._ask(connection)
            return
        _receive(connection)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate)
        with context.wrap_socket(connection, server_side=True) as encrypted:
            self._ask(encrypted)

    def _ask(self, connection: socket.socket) -> None:
        for answer in self._answers:
            number, payload = _receive(connection)
            self.received.append(payload)
            connection.sendall(_packet(number + 1, answer))
        self.received.append(_receive(connection)[1])


@contextmanager
def impostor(method: str, *answers: bytes, certificate: Path | None = None) -> Iterator[Impostor]:
    """Listen on a port of loopback while the block runs."""
    found = Impostor(method, answers, certificate)
    try:
        yield found
    finally:
        found.close()


def switch(method: str, data: bytes = SALT + b"\0") -> bytes:
    """Return a request to log in by another method."""
    return b"\xfe" + method.encode() + b"\0" + data


def own_certificate(path: Path) -> Path:
    """Write a certificate that nobody has signed, with its key."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(_KEY.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(_KEY, hashes.SHA256())
    )
    key = _KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(key + certificate.public_bytes(Encoding.PEM))
    return path


def _greeting(method: str, *, tls: bool) -> bytes:
    capabilities = _CAPABILITIES | (_TLS if tls else 0)
    return (
        b"\x0a8.0.31\0"
        + (7).to_bytes(4, "little")
        + SALT[:8]
        + b"\0"
        + (capabilities & 0xFFFF).to_bytes(2, "little")
        + b"\xff\2\0"
        + (capabilities >> 16).to_bytes(2, "little")
        + bytes([len(SALT) + 1])
        + bytes(10)
        + SALT[8:]
        + b"\0"
        + method.encode()
        + b"\0"
    )


def _packet(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number & 255]) + payload


def _receive(connection: socket.socket) -> tuple[int, bytes]:
    head = _exactly(connection, 4)
    return head[3], _exactly(connection, int.from_bytes(head[:3], "little"))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            msg = "the client has gone"
            raise ConnectionError(msg)
        data += piece
    return data


def _readings(packet: bytes) -> Iterator[bytes]:
    """Yield a packet as it is, and as the program's own key opens it."""
    yield packet
    with contextlib.suppress(ValueError):
        way = padding.OAEP(mgf=padding.MGF1(hashes.SHA1()), algorithm=hashes.SHA1(), label=None)
        hidden = _KEY.decrypt(packet, way)
        yield bytes(byte ^ SALT[at % len(SALT)] for at, byte in enumerate(hidden))
