"""A session on a server: PyMySQL does login, TLS and SQL, then hands over its socket.

Only this module and `authentication` know PyMySQL and use its private names: PyMySQL has no public
way to send a replication command or to hand over its socket. A dump and a SELECT read from the
socket with readers of our own. One thread reads a `SharedSocket`; any other thread, or a signal
handler, may close it.

https://pymysql.readthedocs.io/
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO, NoReturn, Protocol, Self

import pymysql
from pymysql.constants import CR
from pymysql.cursors import DictCursor

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.replication import dump_errors, server_errors
from connector.replication.server import authentication
from connector.replication.server.identity import Cloud, read_cloud, read_identity
from connector.replication.server.server_error_numbers import UNKNOWN_SYSTEM_VARIABLE, server_error
from connector.replication.start_point import ServerIdentity

if TYPE_CHECKING:
    from connector.foundation.settings.sections import SourceSettings


# What PyMySQL raises at bytes that are not of MySQL's protocol, or that it does not expect.
_UNREADABLE = (
    struct.error,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
)
_PROTOCOL_VERSION = 10

__all__ = ["Command", "MysqlServer", "ServerIdentity"]


class Command(Protocol):
    """A command of `connector.replication.protocol.commands`."""

    def encode(self) -> bytes:
        """Return the payload, its command byte first."""
        ...


if TYPE_CHECKING:
    _Base = pymysql.Connection[DictCursor]
else:
    # Generic in its type stubs alone.
    _Base = pymysql.Connection


class _Connection(_Base):
    """PyMySQL's connection, which can also send replication commands and hand over its socket."""

    if TYPE_CHECKING:
        _sock: socket.socket | None
        _rfile: BinaryIO | None
        _closed: bool
        _read_timeout: float | None
        protocol_version: int
        use_unicode: bool

        def _execute_command(self, command: int, sql: bytes) -> None: ...
        def _read_ok_packet(self) -> object: ...

    # Whether the server has introduced itself.
    greeted = False

    def _get_server_information(self) -> None:
        with _readable():
            super()._get_server_information()  # type: ignore[misc]
            # A MySQL server speaks the X Protocol on another port.
            assert self.protocol_version == _PROTOCOL_VERSION
        self.greeted = True

    def _request_authentication(self) -> None:
        with _readable():
            super()._request_authentication()  # type: ignore[misc]

    def _read_query_result(self, unbuffered: bool = False) -> object:
        with _readable():
            try:
                return super()._read_query_result(unbuffered)  # type: ignore[misc]
            except RuntimeError as error:
                # A server may answer any statement with a request for a file of the client.
                raise ValueError(str(error)) from error

    def _create_ssl_ctx(self, given: ssl.SSLContext | dict[str, object]) -> ssl.SSLContext:
        """Return the context of TLS; PyMySQL asks with an empty dict if TLS is only preferred.

        PyMySQL's own would load the authorities of the system, and then verify nothing.
        """
        return given if isinstance(given, ssl.SSLContext) else authentication.unverified_context()

    def send(self, command: Command) -> None:
        """Send a command as the first packet of an exchange."""
        payload = command.encode()
        self._execute_command(payload[0], payload[1:])

    def receive_ok(self) -> None:
        """Read the answer OK; another one raises an error of PyMySQL."""
        self._read_ok_packet()

    def detach(self) -> socket.socket:
        """Return the socket; this connection is then closed without a message to the server."""
        detached, buffered = self._sock, self._rfile
        assert detached is not None
        assert buffered is not None
        # The buffer is empty: the last answer was read to its end and nothing came since.
        buffered.close()
        self._sock = self._rfile = None
        self._closed = True
        return detached


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what PyMySQL raises at foreign bytes into its error for these."""
    try:
        yield
    except OSError:
        # A certificate that is refused is a ValueError as well.
        raise
    except _UNREADABLE as error:
        raise pymysql.err.InternalError(str(error)) from error


class MysqlServer:
    """A session on a MySQL or MariaDB server; a context manager closes it.

    Every method raises SourceUnavailable if the connection breaks or the server is busy, and
    SourceRefused if the server refuses.
    """

    identity: ServerIdentity

    def __init__(self, settings: SourceSettings, connection: _Connection) -> None:
        """Take over a logged-in connection; see `connect`."""
        self.settings = settings
        self.name = name_of(settings)  # the beginning of error messages
        self._connection = connection
        self._known: dict[str, str | None] = {}
        try:
            self.identity = read_identity(self)
        except (LookupError, ValueError) as error:
            # What answers logs everybody in, and knows nothing of MySQL's variables.
            raise SourceRefused(server_errors.NOT_MYSQL, server=self.name) from error

    @classmethod
    def connect(cls, settings: SourceSettings) -> Self:
        """Log in to the server of `settings`.

        Raises SourceUnavailable, SourceRefused, and ConfigError for files that cannot be read.
        """
        server_name = name_of(settings)
        password = settings.read_password().encode("utf-8")
        context = authentication.context_of(settings.tls)
        connection = _Connection(
            host=settings.host,
            port=settings.port,
            user=settings.user,
            password=password,
            charset="utf8mb4",
            autocommit=True,
            cursorclass=DictCursor,
            connect_timeout=settings.connect_timeout_seconds,
            # If login or SQL gets no answer in this time, the peer is dead.
            read_timeout=settings.read_timeout_seconds,
            write_timeout=settings.read_timeout_seconds,
            # PyMySQL has no "preferred" mode; with neither option it uses TLS if the server
            # offers it.
            ssl=context,
            ssl_disabled=True if settings.tls.mode == "disabled" else None,
            program_name="binlog-connector",
            auth_plugin_map=authentication.login_methods(server_name, settings.tls),
            defer_connect=True,
        )
        try:
            connection.connect()
        except UnicodeError as error:
            # The form of a name in DNS has no label that is empty or longer than 63 characters.
            raise SourceRefused(server_errors.NAME_UNKNOWN, server=server_name) from error
        except (pymysql.err.MySQLError, RuntimeError) as error:
            # It raises a RuntimeError if a login needs a package that is not installed.
            if not connection.greeted:
                _raise_ungreeted(settings, error)
            _raise(server_name, error, logged_in=False)
        try:
            return cls(settings, connection)
        except BaseException:
            connection.close()
            raise

    def query(self, sql: str, args: Sequence[object] = ()) -> list[dict[str, object]]:
        """Run one statement and return its rows, each by column name."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql, tuple(args) or None)
                return list(cursor.fetchall())
        except pymysql.err.MySQLError as error:
            _raise(self.name, error)

    def query_bytes(self, sql: str, args: Sequence[object] = ()) -> list[dict[str, object]]:
        """Run one statement as `query` does; its texts are bytes, in whatever character set."""
        self._connection.use_unicode = False
        try:
            return self.query(sql, args)
        finally:
            self._connection.use_unicode = True

    def ping(self, timeout_seconds: float) -> None:
        """Check that the server answers; if it does not, the session is of no more use."""
        usual = self._connection._read_timeout  # noqa: SLF001 - of the whole session otherwise
        self._connection._read_timeout = timeout_seconds  # noqa: SLF001
        try:
            self.query("SELECT 1")
        finally:
            self._connection._read_timeout = usual  # noqa: SLF001

    @cached_property
    def cloud(self) -> Cloud | None:
        """The service that runs the server; None if there is none."""
        return read_cloud(self)

    def variable(self, name: str) -> str | None:
        """Return a global variable as SHOW GLOBAL VARIABLES prints it; None if there is none.

        Servers cut the value at 1024 characters; use `global_value` for GTID sets.
        """
        return self._known[name] if name in self._known else self.variables((name,)).get(name)

    def variables(self, names: Sequence[str]) -> dict[str, str]:
        """Return what `variable` does for each of `names` that there is, with one query."""
        wanted = ", ".join(["%s"] * len(names))
        rows = self.query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({wanted})", names)
        return {str(row["Variable_name"]): str(row["Value"]) for row in rows}

    @contextmanager
    def read_at_once(self, names: Sequence[str]) -> Iterator[None]:
        """Read `names` now, with one query; until the end, `variable` returns these values."""
        self._known = dict.fromkeys(names) | self.variables(names)
        try:
            yield
        finally:
            self._known = {}

    def global_value(self, name: str) -> str | None:
        """Return the whole value of a global variable; None if there is none."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(f"SELECT @@GLOBAL.`{name}` AS value")
                row = cursor.fetchone()
        except pymysql.err.MySQLError as error:
            if error.args[0] == UNKNOWN_SYSTEM_VARIABLE:
                return None
            _raise(self.name, error)
        return None if row is None or row["value"] is None else str(row["value"])

    def execute(self, command: Command) -> None:
        """Send a command that the server answers with OK."""
        try:
            self._connection.send(command)
            self._connection.receive_ok()
        except pymysql.err.MySQLError as error:
            _raise(self.name, error)

    def start_dump(self, command: Command) -> socket.socket:
        """Send a command that the server answers with events, and hand the socket over.

        The socket then belongs to the caller alone, and this session is closed.
        """
        try:
            self._connection.send(command)
        except pymysql.err.MySQLError as error:
            _raise(self.name, error)
        return self._connection.detach()

    def detach(self) -> socket.socket:
        """Hand the socket over, between two commands; this session is closed."""
        return self._connection.detach()

    def close(self) -> None:
        """Log out; does nothing if the connection is gone or was handed over."""
        if self._connection.open:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def name_of(settings: SourceSettings) -> str:
    """Return "source HOST:PORT"."""
    return f"source {settings.host}:{settings.port}"


def _raise(
    server_name: str, error: pymysql.err.MySQLError | RuntimeError, *, logged_in: bool = True
) -> NoReturn:
    number = error.args[0] if error.args else None
    original = getattr(error, "original_exception", None)
    if isinstance(original, OSError):
        raise _connect_error(server_name, original) from error
    if isinstance(error, pymysql.err.InternalError) and not isinstance(number, int):
        raise SourceRefused(server_errors.NOT_MYSQL, server=server_name) from error
    if not isinstance(number, int):
        # A login that PyMySQL itself refuses has only a text.
        raise SourceRefused(
            server_errors.LOGIN_METHOD, server=server_name, why=str(error)
        ) from error
    if number == 0:
        raise SourceUnavailable(dump_errors.CLOSED, server=server_name) from error
    text = str(error.args[1]) if len(error.args) > 1 else ""
    if number == CR.CR_SSL_CONNECTION_ERROR:
        raise SourceRefused(server_errors.NO_TLS, server=server_name) from error
    raise server_error(server_name, number, text, logged_in=logged_in) from error


def _raise_ungreeted(
    settings: SourceSettings, error: pymysql.err.MySQLError | RuntimeError
) -> None:
    """Raise what it means that no server has introduced itself, if PyMySQL does not know it."""
    if error.args[:1] != (CR.CR_SERVER_LOST,):
        return
    server = name_of(settings)
    if isinstance(error.__context__, TimeoutError):
        seconds = settings.read_timeout_seconds
        raise SourceUnavailable(server_errors.SILENT, server=server, seconds=seconds) from error
    raise SourceUnavailable(server_errors.CLOSED_AT_ONCE, server=server) from error


def _connect_error(server_name: str, error: OSError) -> SourceRefused | SourceUnavailable:
    if isinstance(error, ssl.SSLCertVerificationError):
        verdict = error.verify_message.rstrip(".")
        return SourceRefused(server_errors.CERTIFICATE_REFUSED, server=server_name, why=verdict)
    if isinstance(error, socket.gaierror):
        if error.errno == socket.EAI_AGAIN:
            return SourceUnavailable(server_errors.NAME_LATER, server=server_name)
        return SourceRefused(server_errors.NAME_UNKNOWN, server=server_name)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return SourceRefused(server_errors.NO_TLS_SESSION, server=server_name, why=error.reason)
    return SourceUnavailable(
        server_errors.UNREACHABLE, server=server_name, why=error.strerror or str(error)
    )
