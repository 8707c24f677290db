"""A table of another MySQL or MariaDB server.

Each SELECT sees one moment of it. A SELECT of all rows is read as one stream.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from connector.foundation.errors import ConfigError, SourceRefused, SourceUnavailable
from connector.replication.server.addresses import source_settings, split_path
from connector.stream.source.select_session import SelectSession
from stream_jobs.replica.target import as_target_error
from verification.foreign import foreign_errors
from verification.foreign.server_table import ServerTable
from verification.foreign.target import Choose, NamedKeys
from verification.same_server import SameServer

_FORM: Final = "mysql://USER:PASSWORD@HOST:PORT/DATABASE.TABLE"


def split_place(place: str, name: str) -> tuple[tuple[str, str], str]:
    """Return database and table of a place, and the URL of its server; `name` is for people.

    Raises ConfigError for a place without a table.
    """
    try:
        url, path = split_path(f"mysql:{place}")
    except ConfigError as error:
        raise ConfigError(foreign_errors.SERVER_FORM, target=name, form=_FORM) from error
    database, point, table = path.partition(".")
    if not (database and point and table):
        raise ConfigError(foreign_errors.SERVER_FORM, target=name, form=_FORM)
    return (database, table), url


class ServerTarget:
    """Reads one table over one session; after a lost connection, over another one."""

    has_versions = True

    def __init__(self, name: str, place: str) -> None:
        """Read `place`, such as `//user:password@host:3306/shop.orders`; `name` is for people.

        Raises ConfigError for another form, and the errors of a session.
        """
        self.name = name
        self._names, url = split_place(place, name)
        settings = source_settings(url)
        server = f"target {settings.host}:{settings.port}"

        def opened() -> SelectSession:
            try:
                session = SelectSession(settings)
            except (SourceUnavailable, SourceRefused) as error:
                raise as_target_error(error, server) from error
            session.name = server
            return session

        self._server = SameServer(opened)
        self._session = self._server.open_session()
        try:
            self._describe()
        except BaseException:
            self._session.close()
            raise

    def refresh(self) -> str:
        """Look at the columns again; each read sees the rows as they are then."""
        self._describe()
        return ""

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield columns of all rows, some at a time."""
        yield from self._rows(names, "")

    def chosen(
        self,
        names: Sequence[str],
        of: Sequence[str],
        choose: Choose,
        keys: NamedKeys | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the columns `names` of the rows that `choose` returns for their columns `of`."""
        wanted = list(dict.fromkeys([*names, *of]))
        for where in self._conditions(keys):
            for data in self._rows(wanted, where):
                places = choose(data)
                if len(places):
                    yield data.take(pa.array(places, pa.int64())).select(list(names))

    def close(self) -> None:
        """Close the session."""
        self._session.close()

    def _describe(self) -> None:
        if self._session.is_closed:
            self._session = self._server.open_session()
        self._table = table = ServerTable(self._session, self._names)
        self.schema, self.rows = table.columns, table.estimated_rows

    def _conditions(self, keys: NamedKeys | None) -> Iterator[str]:
        """Yield the SQL for rows with these keys; for all rows if its key has other columns."""
        columns = self._table.selected.key_columns
        if keys is None or [column.name for column in columns] != list(keys.names):
            yield ""
            return
        yield from self._table.conditions(keys.values)

    def _rows(self, names: Sequence[str], where: str) -> Iterator[pa.Table]:
        if self._session.is_closed:
            self._describe()
        for data in self._table.rows(where, names):
            yield data.select(list(names))
