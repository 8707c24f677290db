"""A session on the target: statements, and what its errors mean.

PyMySQL logs in with the connector's code, so TLS and logins are those of a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, Self

from connector.errors import (
    ConfigError,
    ConnectorError,
    MirrorError,
    SourceRefused,
    SourceUnavailable,
    mirror_replica,
)
from connector.errors.message import Message
from connector.errors.words import Words
from connector.reader.source_url import source_settings
from connector.source.server.mysql_server import MysqlServer

if TYPE_CHECKING:
    from connector.settings.sections import SourceSettings
    from stream_jobs.settings import ReplicaSettings

Row = dict[str, object]

# A value is stored as it is, or not at all; and 0 is not the next number of a sequence.
_MODE: Final = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION"
_RELAXED: Final = _MODE.replace("STRICT_ALL_TABLES,", "")
# Both states of a cut satisfy the foreign keys. What a cascade has done at the source comes as
# changes of the child's rows, so it must not run again here; and tables are written in turn.
_SETTINGS: Final = (
    f"SET SESSION sql_mode = '{_MODE}', time_zone = '+00:00', foreign_key_checks = 0, "
    "unique_checks = 1, autocommit = 1, character_set_client = utf8mb4, "
    "character_set_connection = utf8mb4, character_set_results = utf8mb4"
)
# A statement may take long: an ALTER TABLE, or the COMMIT of a large cut.
_STATEMENT_SECONDS: Final = 3600.0

_COLLISIONS: Final = frozenset({1213, 1020, 1614})
_UNFIT: Final = frozenset(
    {1048, 1136, 1264, 1265, 1292, 1364, 1366, 1367, 1406, 1411, 1416, 1525, 1690, 3140, 3643, 3819}
    | {4025, 4078}
)
_DUPLICATES: Final = frozenset({1062, 1586, 1859})
_RIGHTS: Final = frozenset({1044, 1045, 1142, 1143, 1227, 1410})


def settings_of(replica: ReplicaSettings) -> SourceSettings:
    """Return how the target is reached. Raises ConfigError for wrong settings."""
    if replica.url is None:
        raise ConfigError(mirror_replica.NO_URL)
    password = replica.read_password()
    try:
        found = source_settings(replica.url.get_secret_value(), password=password)
    except ConfigError as error:
        raise ConfigError(mirror_replica.WRONG_URL, why=error) from error
    return found.model_copy(
        update={
            "read_timeout_seconds": _STATEMENT_SECONDS,
            "password_command": replica.password_command,
        }
    )


class Target:
    """A session; a context manager closes it.

    Every method raises SourceUnavailable if the connection breaks, or if the same statement may
    succeed later, and MirrorError if the server refuses.
    """

    def __init__(self, settings: SourceSettings) -> None:
        """Log in. Raises SourceUnavailable, SourceRefused, and ConfigError for files of TLS."""
        self.name = f"target {settings.host}:{settings.port}"
        try:
            self._server = MysqlServer.connect(settings)
        except (SourceUnavailable, SourceRefused, ConfigError) as error:
            raise of_target(error, self.name) from error
        self._bytes_max = 0
        self.is_mariadb = self._server.identity.flavour == "mariadb"
        self.execute(_SETTINGS, "")
        (row,) = self.query("SELECT @@max_allowed_packet AS found")
        self._bytes_max = int(str(row["found"]))

    def query(self, sql: str, table: object = "") -> list[Row]:
        """Run a statement about `table` and return its rows, by column name."""
        if len(sql) > self._bytes_max > 0:
            # The server would close the connection.
            raise MirrorError(
                mirror_replica.PACKET, server=self.name, table=str(table), number=1153
            )
        try:
            return self._server.query(sql)
        except (SourceUnavailable, SourceRefused) as error:
            self._raise(error, str(table) or "_cdc")

    def execute(self, sql: str, table: object) -> None:
        """Run a statement about `table`, which names it in errors."""
        self.query(sql, table)

    def execute_relaxed(self, sql: str, table: object, warnings: int) -> None:
        """Run a statement outside strict mode that must have so many warnings."""
        self.execute(f"SET SESSION sql_mode = '{_RELAXED}'", table)
        self.execute(sql, table)
        (row,) = self.query("SELECT @@warning_count AS found", table)
        if row["found"] != warnings:
            raise MirrorError(
                mirror_replica.UNFIT_VALUE, server=self.name, table=str(table), number=1265
            )
        self.execute(f"SET SESSION sql_mode = '{_MODE}'", table)

    def close(self) -> None:
        """Log out; an open transaction is rolled back."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _raise(self, error: SourceUnavailable | SourceRefused, table: str) -> NoReturn:
        number = error.number
        if number in _COLLISIONS:
            raise SourceUnavailable(
                mirror_replica.COLLISION, server=self.name, number=number
            ) from error
        if isinstance(error, SourceUnavailable):
            raise of_target(error, self.name) from error
        facts = {"server": self.name, "number": number}
        if number in _RIGHTS:
            raise MirrorError(
                mirror_replica.RIGHTS, said=error.message.facts.get("said", ""), **facts
            ) from error
        code = mirror_replica.REFUSED
        if number in _UNFIT:
            code = mirror_replica.UNFIT_VALUE
        elif number in _DUPLICATES:
            code = mirror_replica.DUPLICATE
        # Without the text of the server, which has values of the row.
        raise MirrorError(code, table=table, **facts) from None


def of_target(error: ConnectorError, name: str) -> ConnectorError:
    """Return the error of a source as one of the target `name`, which a URL names."""
    found = error.in_words(Words.URL)
    facts = {**found.message.facts}
    if "server" in facts:
        facts["server"] = name
    if facts.get("key") == "source.password_command":
        facts["key"] = "replica.password_command"
    found.message = Message(found.message.code, facts, Words.URL)
    return found
