"""TLS settings to a context of the standard library, as MySQL's clients understand them.

https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#option_general_ssl-mode
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from connector.errors import ConfigError, tls_files

if TYPE_CHECKING:
    from connector.settings.sections import TlsSettings


def context_of(settings: TlsSettings) -> ssl.SSLContext | None:
    """Return the context for `settings`; None if TLS is disabled or only preferred.

    A client certificate makes TLS required: without TLS the server would not identify the client.
    Raises ConfigError if a file cannot be used.
    """
    certificate = settings.certificate
    if settings.mode == "disabled" or (settings.mode == "preferred" and certificate is None):
        return None
    verify = settings.mode in ("verify_ca", "verify_identity")
    context = _verifying_context(settings) if verify else unverified_context()
    if certificate is not None:
        try:
            # Without a passphrase: a daemon must not wait for someone to type.
            context.load_cert_chain(certificate, settings.key, password="")
        except OSError as error:
            raise ConfigError(
                tls_files.TLS_CERTIFICATE, path=certificate, why=_why(error)
            ) from error
    return context


def unverified_context() -> ssl.SSLContext:
    """Return a context that accepts any certificate.

    It loads no authorities: to read those of the system takes longer than the rest of a login.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _verifying_context(settings: TlsSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca)
    except OSError as error:
        raise ConfigError(tls_files.TLS_CA, path=settings.ca, why=_why(error)) from error
    # Certificates that MySQL makes for itself lack extensions that the strict rules need.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = settings.mode == "verify_identity"
    return context


def _why(error: OSError) -> str:
    # An ssl.SSLError is an OSError, too: the file exists, but is not PEM.
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return reason or str(error)
