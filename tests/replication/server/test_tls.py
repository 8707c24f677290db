"""A context of TLS loads what it verifies with, and a socket returns all records that came."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.sections import TlsSettings
from connector.replication.server.authentication import context_of
from connector.replication.server.shared_socket import SharedSocket
from tests.replication.server.impostor import own_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDS = [b"event %d;" % number for number in range(20)]


def test_a_context_that_verifies_nothing_loads_no_authorities() -> None:
    context = context_of(TlsSettings(mode="required"))
    assert context is not None
    assert context.cert_store_stats() == {"x509": 0, "crl": 0, "x509_ca": 0}


@contextmanager
def tls_pair(tmp_path: Path) -> Iterator[tuple[ssl.SSLSocket, SharedSocket]]:
    """Yield a server's end of a connection, and ours."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(own_certificate(tmp_path / "server.pem"))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    ends = socket.socketpair()
    greeting: list[ssl.SSLSocket] = []
    greeted = threading.Thread(
        target=lambda: greeting.append(server.wrap_socket(ends[0], server_side=True))
    )
    greeted.start()
    ours = client.wrap_socket(ends[1])
    greeted.join()
    with greeting[0] as theirs, closing(SharedSocket(ours)) as shared:
        yield theirs, shared


def test_all_records_that_came_are_received_together(tmp_path: Path) -> None:
    with tls_pair(tmp_path) as (theirs, ours):
        for record in RECORDS:
            theirs.sendall(record)
        assert ours.receive(32_768, 0.0) == b"".join(RECORDS)
        with pytest.raises(ssl.SSLWantReadError):
            ours.receive(32_768, 0.0)


def test_no_more_bytes_are_received_than_asked_for(tmp_path: Path) -> None:
    with tls_pair(tmp_path) as (theirs, ours):
        for record in RECORDS:
            theirs.sendall(record)
        sent = b"".join(RECORDS)
        assert ours.receive(13, 0.0) == sent[:13]
        assert ours.receive(32_768, 0.0) == sent[13:]


def test_records_before_the_end_of_a_connection_are_received_first(tmp_path: Path) -> None:
    with tls_pair(tmp_path) as (theirs, ours):
        for record in RECORDS:
            theirs.sendall(record)
        theirs.close()
        assert ours.receive(32_768, 0.0) == b"".join(RECORDS)
        assert ours.receive(32_768, 0.0) == b""
