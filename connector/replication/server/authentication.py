"""Authentication and TLS: which servers a login trusts, and when it hands out the password.

The server chooses the authentication method, and any program that answers at its address counts as
the server until a certificate proves it. A scramble or a signature does not tell the password.
Other methods send it, either as it is or encrypted with a key of the server:

- Clear text (mysql_clear_password, dialog) needs a certificate that was checked.
- Without TLS, caching_sha2_password and sha256_password need a public key that the settings choose:
  a file, or the key that the server sends. MySQL's clients have the same rule, also on loopback.

https://dev.mysql.com/doc/refman/8.4/en/caching-sha2-pluggable-authentication.html
https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#option_general_ssl-mode
https://mariadb.com/docs/server/reference/plugins/authentication-plugins
"""

import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from pymysql import _auth

from connector.foundation.errors import ConfigError, SourceRefused
from connector.foundation.settings.sections import TlsSettings
from connector.replication import server_errors

# PyMySQL's connection and packet; its type stubs lack what a login needs.
_Connection = Any
_Packet = Any

_CACHING: Final = "caching_sha2_password"
_SHA256: Final = "sha256_password"
_ASK_FOR_KEY: Final = {_CACHING: b"\x02", _SHA256: b"\x01"}
_SCRAMBLE_FITS: Final = 3  # the server's cache knows the account


class _ShaLogin:
    """caching_sha2_password and sha256_password: the password over TLS, or encrypted with a key."""

    def __init__(
        self, server: str, key: bytes | None, asks: bool, method: str, connection: _Connection
    ) -> None:
        self._server = server
        self._key = key
        self._asks = asks
        self._method = method
        self._connection = connection

    def authenticate(self, packet: _Packet) -> _Packet:
        """Answer `packet`, a switch to this method or data of it; return the server's verdict."""
        connection = self._connection
        sent_key: bytes | None = None
        if packet.is_auth_switch_request():
            connection.salt = packet.read_all().removesuffix(b"\0")
            if self._method == _CACHING:
                scramble = _auth.scramble_caching_sha2(connection.password, connection.salt)
                packet = self._exchange(scramble)
        elif self._method == _SHA256:
            # The first packet of a login by this method has asked for the key.
            sent_key = packet.get_all_data()[1:]
        if self._method == _CACHING:
            if not packet.is_extra_auth_data():
                return packet
            if packet.get_all_data()[1] == _SCRAMBLE_FITS:
                return connection._read_packet()  # noqa: SLF001
        return self._hand_out(sent_key)

    def _hand_out(self, sent_key: bytes | None) -> _Packet:
        connection = self._connection
        if connection._secure:  # noqa: SLF001 - whether TLS has begun
            return self._exchange(connection.password + b"\0")
        if not connection.password:
            return self._exchange(b"")
        key = self._key
        if key is None and self._asks:
            key = sent_key or self._exchange(_ASK_FOR_KEY[self._method]).get_all_data()[1:]
        if key is None:
            raise SourceRefused(
                server_errors.KEY_NOT_CHOSEN, server=self._server, method=self._method
            )
        from connector.replication.server.rsa_encryption import encrypted  # noqa: PLC0415

        return self._exchange(encrypted(connection.password, connection.salt, key))

    def _exchange(self, data: bytes) -> _Packet:
        self._connection.write_packet(data)
        return self._connection._read_packet()  # noqa: SLF001


def login_methods(
    server: str, settings: TlsSettings
) -> dict[str, Callable[[_Connection], object | None]]:
    """Return PyMySQL's `auth_plugin_map`: what a method is asked for when a server wants it.

    PyMySQL has the other methods itself. `server` begins the text of an error. Raises ConfigError
    for a file without a public key.
    """
    key, asks = public_key(settings.server_public_key), settings.get_server_public_key
    checked = settings.mode in ("verify_ca", "verify_identity")
    return {
        **{method: partial(_ShaLogin, server, key, asks, method) for method in _ASK_FOR_KEY},
        **(
            {}
            if checked
            else {
                method: partial(_refuse_clear_text, server, method)
                for method in ("mysql_clear_password", "dialog")
            }
        ),
        # PyMySQL no longer has it, and forgot to say so.
        "mysql_old_password": lambda _: object(),
    }


def public_key(path: Path | None) -> bytes | None:
    """Return the RSA key of a PEM file; None without a file.

    Raises ConfigError if the file cannot be read or holds no such key.
    """
    if path is None:
        return None
    from connector.replication.server.rsa_encryption import rsa_key  # noqa: PLC0415

    try:
        key = path.read_bytes()
        if rsa_key(key) is not None:
            return key
        why = "a key of another kind than RSA"
    except OSError as error:
        why = error.strerror or str(error)
    except ValueError:
        why = "no public key in PEM"
    raise ConfigError(server_errors.PUBLIC_KEY, path=path, why=why)


def _refuse_clear_text(server: str, method: str, _: _Connection) -> NoReturn:
    raise SourceRefused(server_errors.CLEAR_TEXT, server=server, method=method)


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
                server_errors.TLS_CERTIFICATE, path=certificate, why=_why(error)
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
        raise ConfigError(server_errors.TLS_CA, path=settings.ca, why=_why(error)) from error
    # Certificates that MySQL makes for itself lack extensions that the strict rules need.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = settings.mode == "verify_identity"
    return context


def _why(error: OSError) -> str:
    # An ssl.SSLError is an OSError, too: the file exists, but is not PEM.
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return reason or str(error)
