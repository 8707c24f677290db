"""A table of a server with a driver for Python, whose columns SQL returns in a few plain types.

What differs between servers is in a dialect: how names are quoted, which columns a table has, and
which expression returns a column in a type of Arrow. Most are read as texts, which Arrow parses.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa

from connector.foundation.errors import ConfigError
from stream_jobs.errors import MirrorError
from verification.foreign import foreign_errors
from verification.foreign.target import Choose, NamedKeys

_KEYS_OF_A_SELECT: Final = 500
# What drivers are told by the other parts of a URL, or by this program alone.
_PARTS: Final = frozenset(
    {"user", "username", "password", "host", "port", "dbname", "database", "options", "conninfo"}
)


class SqlColumn(NamedTuple):
    """A column of a table, as it is selected."""

    name: str
    expression: str  # of SQL
    wire: pa.DataType  # of what the driver returns
    kind: pa.DataType  # of the column


class SqlPlace(NamedTuple):
    """The parts of the URL of a table."""

    user: str | None
    password: str | None
    host: str
    port: int | None
    names: tuple[str, ...]  # of the database, perhaps of a schema, and of the table
    options: Mapping[str, str]

    @classmethod
    def of(cls, place: str, name: str, form: str, names: Sequence[int] = (2,)) -> "SqlPlace":
        """Read `//user:password@host:port/database.table?option=value`; `name` is for people.

        `names` are the numbers of names that a table may have. Raises ConfigError, which shows
        `form`, for another place.
        """
        try:
            parts = urlsplit(f"sql:{place}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        own = tuple(map(unquote, parts.path.strip("/").split(".")))
        options = dict(parse_qsl(parts.query))
        is_named = host and len(own) in names and all(own)
        if not host or not is_named or not _PARTS.isdisjoint(options):
            raise ConfigError(foreign_errors.SERVER_FORM, target=name, form=form)
        user, password = (
            None if part is None else unquote(part) for part in (parts.username, parts.password)
        )
        return cls(user, password, host, port, own, options)

    @property
    def server(self) -> str:
        """The server, for people."""
        return self.host if self.port is None else f"{self.host}:{self.port}"


class Dialect(ABC):
    """One kind of server, and a connection to it.

    Methods raise MirrorError if the server refuses, and SourceUnavailable if it is away: the next
    reading connects again.
    """

    form: ClassVar[str]  # of the URL of a table, for people
    # Whether all reads between two calls of `begin` see one moment of the table.
    has_versions: ClassVar[bool]

    @abstractmethod
    def begin(self) -> None:
        """See the newest rows from now on."""

    @abstractmethod
    def columns(self) -> list[SqlColumn]:
        """Return the columns of the table; none if there is no such table."""

    @abstractmethod
    def estimated_rows(self) -> int:
        """Return about how many rows the table has; 0 if the server does not know."""

    @abstractmethod
    def has_index(self, name: str) -> bool:
        """Return whether rows are found by values of a column without a look at all rows."""

    @abstractmethod
    def quoted(self, name: str) -> str:
        """Return the name of a column in SQL."""

    @abstractmethod
    def rows(
        self, columns: Sequence[SqlColumn], where: str, values: Sequence[object]
    ) -> Iterator[pa.Table]:
        """Yield the rows of a condition, some at a time, in the types of the wire."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def condition(self, names: Sequence[str], keys: Sequence[tuple[object, ...]]) -> str:
        """Return the condition for rows that have one of these keys, with its placeholders."""
        key = f"({', '.join('%s' for _ in names)})"
        columns = ", ".join(map(self.quoted, names)).replace("%", "%%")
        return f"({columns}) IN ({', '.join(key for _ in keys)})"


class SqlTarget:
    """Reads one table by a dialect."""

    def __init__(self, name: str, dialect: Dialect) -> None:
        """Read the table of `dialect`; `name` is for people."""
        self.name = name
        self.has_versions = dialect.has_versions
        self._dialect = dialect
        self._columns: dict[str, SqlColumn] = {}
        self.schema = pa.schema([])
        self.rows = 0

    def refresh(self) -> str:
        """Read the newest rows from now on."""
        self._dialect.begin()
        columns = self._dialect.columns()
        if not columns:
            raise MirrorError(foreign_errors.NO_TARGET, target=self.name)
        self._columns = {column.name: column for column in columns}
        self.schema = pa.schema([(column.name, column.kind) for column in columns])
        self.rows = self._dialect.estimated_rows()
        return ""

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield columns of all rows, some at a time."""
        yield from self._rows(names, "", ())

    def chosen(
        self,
        names: Sequence[str],
        of: Sequence[str],
        choose: Choose,
        keys: NamedKeys | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the columns `names` of the rows that `choose` returns for their columns `of`."""
        wanted = list(dict.fromkeys([*names, *of]))
        for where, values in self._conditions(keys):
            for data in self._rows(wanted, where, values):
                places = choose(data)
                if len(places):
                    yield data.take(pa.array(places, pa.int64())).select(list(names))

    def close(self) -> None:
        """Close the connection."""
        self._dialect.close()

    def _conditions(self, keys: NamedKeys | None) -> Iterator[tuple[str, list[object]]]:
        """Yield conditions for rows with these keys; one for all rows if no index finds them."""
        if keys is None or not self._dialect.has_index(keys.names[0]):
            yield "", []
            return
        for start in range(0, len(keys.values), _KEYS_OF_A_SELECT):
            some = keys.values[start : start + _KEYS_OF_A_SELECT]
            where = self._dialect.condition(keys.names, some)
            yield where, [value for key in some for value in key]

    def _rows(
        self, names: Sequence[str], where: str, values: Sequence[object]
    ) -> Iterator[pa.Table]:
        own = list(dict.fromkeys(names))
        columns = [self._columns[name] for name in own]
        for data in self._dialect.rows(columns, where, values):
            yield self._typed(data, columns).select(list(names))

    def _typed(self, data: pa.Table, columns: Sequence[SqlColumn]) -> pa.Table:
        arrays = []
        for column, array in zip(columns, data.columns, strict=True):
            try:
                arrays.append(array if array.type == column.kind else _cast(array, column.kind))
            except pa.ArrowException as error:
                facts: dict[str, Any] = {"target": self.name, "column": column.name}
                raise MirrorError(foreign_errors.TARGET_VALUE, **facts, said=error) from error
        return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return values in another type; times without a zone are UTC."""
    if pa.types.is_timestamp(kind) and pa.types.is_string(values.type):
        naive = values.cast(pa.timestamp(kind.unit))
        return naive if kind.tz is None else naive.cast(pa.int64()).cast(kind)
    return values.cast(kind)


def table_of(rows: Sequence[Sequence[object]], columns: Sequence[SqlColumn]) -> pa.Table:
    """Return rows of a driver as a table."""
    arrays = [
        pa.array(values, column.wire)
        for values, column in zip(zip(*rows, strict=True), columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])
