"""A lake for Python programs and notebooks, which keeps its tables as `up` does."""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from connector.foundation.errors import ConfigError, TransientError
from connector.lake import lake_errors
from connector.lake.lake_start import lake_of, options_of, running
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.source.findings import Severity
from connector.stream.source.server_selection import check_setup

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from types import TracebackType

    from connector.foundation.errors.message import Message
    from connector.foundation.settings.sections import SourceSettings
    from connector.lake.lake_folder import LakeOptions
    from connector.lake.lake_tables import LakeTable


def mirror(
    source: str | None,
    to: str | os.PathLike[str],
    *,
    tables: Sequence[str] = (),
    iceberg: bool = False,
    password: str | None = None,
) -> Lake:
    """Keep the tables of the folder `to` equal to those of a source, and return the lake.

    `source` is `mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE]`, with the options of
    `binlog-connector up`; None for a lake that was made before. `password` replaces that of the
    URL. `tables` are patterns such as `shop.orders` or `shop.*`; without any, all tables of
    DATABASE. With `iceberg`, each table is an Iceberg table, too.

    The tables follow the source until `close`, the end of a `with` block, or that of this process.

    Raises ConfigError for wrong arguments, a folder that cannot be written, and a lake that another
    process keeps; SourceRefused with all that the source lacks; SourceUnavailable;
    LocalStackError without a Java runtime.
    """
    options = None if source is None else options_of(source, password, tables, iceberg=iceberg)
    return Lake(Path(to), options)


class Lake:
    """Tables that follow a source; `mirror` makes one. A context manager closes it at the end."""

    def __init__(self, path: Path, options: LakeOptions | None) -> None:
        """Start both programs; raises as `mirror`."""
        if find_spec("deltalake") is None:
            raise ConfigError(lake_errors.EXTRA, said="No module named 'deltalake'")
        self._folder = lake_of(path, options)
        self._stack = ExitStack()
        self._pipeline = self._stack.enter_context(running(self._folder, options, _check, _tell))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End both programs. The tables stay, and `mirror` goes on with them."""
        self._stack.close()

    @property
    def path(self) -> Path:
        """The folder, as an absolute path."""
        return self._folder.path

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the tables have everything that the source has committed at this call.

        Raises TransientError after `timeout` seconds, and DefiniteError if one of the programs or
        one of the tables cannot go on; SourceUnavailable or SourceRefused if the source does not
        say what it has committed.
        """
        end = None if timeout is None else time.monotonic() + timeout

        def look() -> None:
            if end is not None and time.monotonic() >= end:
                raise TransientError(
                    lake_errors.NOT_IN_TIME,
                    folder=self.path,
                    config=self._folder.connector_config,
                    seconds=timeout,
                    state=self._pipeline.state_words(),
                )

        self._pipeline.require_all(self._pipeline.catch_up(look), look)

    def tables(self) -> list[str]:
        """Return the names of the tables that are copied, as `database.table`."""
        cut = self._pipeline.last_cut()
        return [] if cut is None else sorted(cut.tables)

    def table(self, name: str) -> LakeTable:
        """Return the newest version of the table `database.table`.

        Raises ConfigError if the table is not copied (yet), and DefiniteError if a program cannot
        go on, so that the table is old.
        """
        from connector.lake.lake_tables import table_of  # noqa: PLC0415  # an extra

        self._pipeline.check()
        return table_of(self._folder, self._pipeline.last_cut(), name)


def _tell(message: Message) -> None:
    warnings.warn(str(message), stacklevel=2)


def _check(source: SourceSettings) -> None:
    """Raise SourceRefused with what the source lacks, and how to change it."""
    with MysqlServer.connect(source) as server:
        check_setup(server, source, Severity.ERROR)
