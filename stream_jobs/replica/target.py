"""The target of a replica: a session on the server, and the tables that exist there.

PyMySQL logs in with the connector's code, so TLS and logins work as they do for a source. An
existing table is refused if it cannot hold every value of the mirror.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Self

from connector.foundation import errors
from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.foundation.errors.message import Message, Words
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.addresses import source_settings
from connector.replication.server.mysql_server import MysqlServer
from stream_jobs.errors import MirrorError
from stream_jobs.replica import replica_errors
from stream_jobs.replica.statements import TableName, text_literal
from stream_jobs.settings import ReplicaSettings
from stream_jobs.source.column_types import type_text

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
# Of a statement that has several rows.
_STATEMENT_BYTES: Final = 1024 * 1024
# A statement may take long: an ALTER TABLE, or the COMMIT of a large cut.
_STATEMENT_SECONDS: Final = 3600.0

_COLLISIONS: Final = frozenset({1213, 1020, 1614})
_UNFIT: Final = frozenset(
    {1048, 1136, 1264, 1265, 1292, 1364, 1366, 1367, 1406, 1411, 1416, 1525, 1690, 3140, 3643, 3819}
    | {4025, 4078}
)
_DUPLICATES: Final = frozenset({1062, 1586, 1859})
_RIGHTS: Final = frozenset({1044, 1045, 1142, 1143, 1227, 1410})


def target_settings(replica: ReplicaSettings) -> SourceSettings:
    """Return how the target is reached. Raises ConfigError for wrong settings."""
    if replica.url is None:
        raise errors.ConfigError(replica_errors.NO_URL)
    password = replica.read_password()
    try:
        settings = source_settings(replica.url.get_secret_value(), password=password)
    except errors.ConfigError as error:
        raise errors.ConfigError(replica_errors.WRONG_URL, why=error) from error
    return settings.model_copy(
        update={
            "read_timeout_seconds": _STATEMENT_SECONDS,
            "password_command": replica.password_command,
        }
    )


class TargetSession:
    """A session; a context manager closes it.

    Every method raises SourceUnavailable if the connection breaks, or if the same statement may
    succeed later, and MirrorError if the server refuses.
    """

    def __init__(self, settings: SourceSettings) -> None:
        """Log in. Raises SourceUnavailable, SourceRefused, and ConfigError for files of TLS."""
        self.name = f"target {settings.host}:{settings.port}"
        try:
            self._server = MysqlServer.connect(settings)
        except (errors.SourceUnavailable, errors.SourceRefused, errors.ConfigError) as error:
            raise as_target_error(error, self.name) from error
        self._bytes_max = 0
        self.is_mariadb = self._server.identity.flavour == "mariadb"
        self.execute(_SETTINGS, "")
        (row,) = self.query(
            "SELECT @@max_allowed_packet AS packet, @@lower_case_table_names AS letters"
        )
        self._bytes_max = int(str(row["packet"]))
        # Whether names of databases and tables that differ in case are the same.
        self.ignores_case = str(row["letters"]) != "0"

    @property
    def statement_bytes(self) -> int:
        """How many bytes a statement with several rows has at most."""
        return min(_STATEMENT_BYTES, self._bytes_max - 2)

    def query(self, sql: str, table: object = "") -> list[Row]:
        """Run a statement about `table` and return its rows, by column name."""
        # One byte for the command; a packet must be shorter than the maximum.
        if 0 < self._bytes_max <= 1 + len(sql.encode()):
            # The server would close the connection.
            raise MirrorError(
                replica_errors.PACKET, server=self.name, table=str(table), number=1153
            )
        try:
            return self._server.query(sql)
        except (errors.SourceUnavailable, errors.SourceRefused) as error:
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
                replica_errors.UNFIT_VALUE, server=self.name, table=str(table), number=1265
            )
        self.execute(f"SET SESSION sql_mode = '{_MODE}'", table)

    def close(self) -> None:
        """Log out; an open transaction is rolled back."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _raise(
        self, error: errors.SourceUnavailable | errors.SourceRefused, table: str
    ) -> NoReturn:
        number = error.number
        if number in _COLLISIONS:
            raise errors.SourceUnavailable(
                replica_errors.COLLISION, server=self.name, number=number
            ) from error
        if isinstance(error, errors.SourceUnavailable):
            raise as_target_error(error, self.name) from error
        facts = {"server": self.name, "number": number}
        if number in _RIGHTS:
            raise MirrorError(
                replica_errors.RIGHTS, said=error.message.facts.get("said", ""), **facts
            ) from error
        code = replica_errors.REFUSED
        if number in _UNFIT:
            code = replica_errors.UNFIT_VALUE
        elif number in _DUPLICATES:
            code = replica_errors.DUPLICATE
        # Without the text of the server, which has values of the row.
        raise MirrorError(code, table=table, **facts) from None


def as_target_error(error: errors.ConnectorError, name: str) -> errors.ConnectorError:
    """Return the error of a source as one of the target `name`, which a URL names."""
    target_error = error.in_words(Words.URL)
    facts = {**target_error.message.facts}
    if "server" in facts:
        facts["server"] = name
    if facts.get("key") == "source.password_command":
        facts["key"] = "replica.password_command"
    target_error.message = Message(target_error.message.code, facts, Words.URL)
    return target_error


# Types of the target by those of a mirror; of others, the name must be the same.
_TEXTS: Final = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_BLOBS: Final = ("varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_GEOMETRIES: Final = (
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
    "geometrycollection", "geomcollection",
)  # fmt: skip
_OTHERS: Final[Mapping[str, Sequence[str]]] = {
    "float": ("float", "double"),
    "char": _TEXTS,
    "varchar": _TEXTS[1:],
    "text": _TEXTS[1:],
    "enum": ("enum", *_TEXTS),
    "set": ("set", *_TEXTS),
    "varbinary": _BLOBS,
    "blob": _BLOBS,
    "binary": ("binary", *_BLOBS),
    "json": ("json", "longtext"),
    "geometry": _GEOMETRIES,
}
_FRACTIONS: Final = frozenset({"datetime", "timestamp", "time"})


@dataclass(frozen=True, slots=True)
class TargetTable:
    """What the target says of a table."""

    # As information_schema.COLUMNS, by name in lower case.
    columns: Mapping[str, Mapping[str, Any]]
    key: Sequence[str]
    engine: str

    @classmethod
    def look(cls, target: TargetSession, name: TableName) -> Self | None:
        """Return a table; None if there is none."""
        where = (
            f"WHERE TABLE_SCHEMA = {text_literal(name.database)} "
            f"AND TABLE_NAME = {text_literal(name.table)}"
        )
        tables = target.query(
            f"SELECT ENGINE AS engine FROM information_schema.TABLES {where}", name
        )
        if not tables:
            return None
        rows = target.query(
            "SELECT COLUMN_NAME AS name, DATA_TYPE AS type, NUMERIC_SCALE AS scale, "
            "DATETIME_PRECISION AS fraction, CHARACTER_OCTET_LENGTH AS length, "
            "IS_NULLABLE AS nullable, COLUMN_DEFAULT AS initial, "
            "GENERATION_EXPRESSION AS expression "
            f"FROM information_schema.COLUMNS {where} ORDER BY ORDINAL_POSITION",
            name,
        )
        key = target.query(
            "SELECT COLUMN_NAME AS name FROM information_schema.STATISTICS "
            f"{where} AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX",
            name,
        )
        return cls(
            {str(row["name"]).lower(): row for row in rows},
            [str(row["name"]) for row in key],
            str(tables[0]["engine"]),
        )

    @property
    def lower_key(self) -> list[str]:
        """The names of the key's columns, in lower case."""
        return [name.lower() for name in self.key]

    @property
    def generated(self) -> frozenset[str]:
        """The names of columns that the target computes, in lower case."""
        return frozenset(name for name, row in self.columns.items() if row["expression"])

    def problems(self, columns: Sequence[SchemaColumn]) -> list[str]:
        """Return why the table cannot hold the rows of a mirror."""
        texts = []
        if self.engine.lower() != "innodb":
            texts.append(f"its engine is {self.engine}, and transactions need InnoDB")
        keyed = sorted((column for column in columns if column["key"]), key=lambda c: c["key"])
        key = [column["name"] for column in keyed]
        if self.lower_key != [name.lower() for name in key]:
            texts.append(f"its primary key is ({', '.join(self.key)}), not ({', '.join(key)})")
        for column in columns:
            row = self.columns.get(column["name"].lower())
            if row is None:
                texts.append(f"it has no column {column['name']}")
            elif not row["expression"] and not _holds(row, column):
                texts.append(
                    f"{column['name']}: it is {_spelled(row)}, and the mirror has "
                    f"{type_text(column)}"
                )
        return texts


def _holds(row: Mapping[str, Any], column: SchemaColumn) -> bool:
    """Return whether a column holds every value, as far as strict mode would not notice."""
    kind, own = column["type"], str(row["type"]).lower()
    if kind in INTEGER_TYPES:
        return own in INTEGER_TYPES
    if own not in _OTHERS.get(kind, (kind,)):
        return False
    if kind == "decimal":
        return int(row["scale"]) >= column["scale"]
    if kind in _FRACTIONS:
        return int(row["fraction"] or 0) >= column.get("fraction", 0)
    if own == "binary":
        return int(row["length"]) == column["length"]
    return True


def _spelled(row: Mapping[str, Any]) -> str:
    if row["scale"] is not None and row["type"] == "decimal":
        return f"decimal with {row['scale']} decimals"
    if row["fraction"] is not None:
        return f"{row['type']}({row['fraction']})"
    if row["type"] == "binary":
        return f"binary({row['length']})"
    return str(row["type"])
