"""A context of TLS loads the authorities that it verifies with, and no others."""

from __future__ import annotations

from connector.foundation.settings.sections import TlsSettings
from connector.replication.server.authentication import context_of


def test_a_context_that_verifies_nothing_loads_no_authorities() -> None:
    context = context_of(TlsSettings(mode="required"))
    assert context is not None
    assert context.cert_store_stats() == {"x509": 0, "crl": 0, "x509_ca": 0}
