"""Options that the commands for logs share: records whose fields typer shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, NamedTuple

from connector.cli.declared import Argument, Option
from connector.errors import ConfigError, DecodeError, options
from connector.errors.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.changes.table_filter import TableFilter
    from connector.dump.selection import SelectionOptions
    from connector.gtid import GtidSet, MariadbGtidSet


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        import typer  # noqa: PLC0415  # which reads times

        raise typer.BadParameter(str(Message(options.TIME, {"text": text}))) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


_SELECTION = "Selection"
_FROM_SERVER = "From a server"

LogNames = Annotated[
    list[str] | None,
    Argument(
        metavar="LOG",
        help="Files in their order, also compressed by gzip or zstd; `-` is standard input. With "
        "--source, names of the server's logs.",
        show_default=False,
    ),
]
VerifyChecksum = Annotated[
    bool,
    Option(
        "--verify-checksum/--no-verify-checksum",
        help="Whether an event with a wrong checksum is an error.",
    ),
]


class ServerOptions(NamedTuple):
    """The server whose logs are read; none for files."""

    source: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Read the logs of the server mysql://USER[:PASSWORD]@HOST[:PORT]. Without a "
            "password and --password-env it is asked for on a terminal.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = None
    password_env: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The environment variable that holds the password.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = None
    to_last_log: Annotated[
        bool,
        Option(
            "--to-last-log",
            help="Read from the named log to the end of the last one.",
            rich_help_panel=_FROM_SERVER,
        ),
    ] = False


class PositionOptions(NamedTuple):
    """Where reading begins and ends."""

    start_position: Annotated[
        int | None,
        Option(
            min=4,
            metavar="N",
            help="Start at the event at this position of the first log.",
            rich_help_panel=_SELECTION,
        ),
    ] = None
    stop_position: Annotated[
        int | None,
        Option(
            min=4,
            metavar="N",
            help="Stop before the first event at or after this position of the last log.",
            rich_help_panel=_SELECTION,
        ),
    ] = None


class ChangeOptions(NamedTuple):
    """Which changes are selected."""

    start_datetime: Annotated[
        datetime | None,
        Option(
            parser=_time,
            metavar="TIME",
            help="Start at the first event at or after this time, in ISO form; UTC without a zone.",
            rich_help_panel=_SELECTION,
        ),
    ] = None
    stop_datetime: Annotated[
        datetime | None,
        Option(
            parser=_time,
            metavar="TIME",
            help="Stop before the first event at or after this time.",
            rich_help_panel=_SELECTION,
        ),
    ] = None
    include_gtids: Annotated[
        str | None,
        Option(
            metavar="SET",
            help="Only transactions of this set; a MariaDB position means all up to it.",
            rich_help_panel=_SELECTION,
        ),
    ] = None
    exclude_gtids: Annotated[
        str | None,
        Option(metavar="SET", help="No transactions of this set.", rich_help_panel=_SELECTION),
    ] = None
    databases: Annotated[
        list[str],
        Option(
            "--database",
            metavar="PATTERN",
            help="Only changes of tables in this database; may be repeated.",
            rich_help_panel=_SELECTION,
        ),
    ] = []  # noqa: RUF012 - it is read alone
    tables: Annotated[
        list[str],
        Option(
            "--table",
            metavar="DATABASE.TABLE",
            help="Only changes of this table; a pattern as in source.tables; may be repeated.",
            rich_help_panel=_SELECTION,
        ),
    ] = []  # noqa: RUF012 - it is read alone
    server_ids: Annotated[
        list[int],
        Option(
            "--server-id",
            min=0,
            metavar="N",
            help="Only events that this server wrote first; may be repeated.",
            rich_help_panel=_SELECTION,
        ),
    ] = []  # noqa: RUF012 - it is read alone

    def selection(self, types: Sequence[str] = ()) -> SelectionOptions:
        """Return the selection of these options, for events of `types`.

        Raises ConfigError that names the wrong option.
        """
        from connector.dump.selection import (  # noqa: PLC0415  # keeps --help fast
            SelectionOptions,
            types_of,
        )

        return SelectionOptions(
            start_datetime=self.start_datetime,
            stop_datetime=self.stop_datetime,
            include_gtids=_gtids("--include-gtids", self.include_gtids),
            exclude_gtids=_gtids("--exclude-gtids", self.exclude_gtids),
            tables=_table_filter(self.databases, self.tables),
            types=types_of(types),
            server_ids=frozenset(self.server_ids),
        )


def _gtids(option: str, text: str | None) -> GtidSet | MariadbGtidSet | None:
    if text is None:
        return None
    from connector.gtid import GtidSet, MariadbGtidSet  # noqa: PLC0415  # keeps --help fast

    # MySQL writes a colon between server and numbers, MariaDB only minus signs.
    kind = GtidSet if ":" in text else MariadbGtidSet
    try:
        return kind.parse(text)
    except DecodeError as error:
        if ":" in text:
            raise ConfigError(options.GTIDS, option=option, why=error) from error
        raise ConfigError(options.NO_GTIDS, option=option, text=text) from error


def _table_filter(databases: Sequence[str], tables: Sequence[str]) -> TableFilter | None:
    from connector.changes.table_filter import TableFilter  # noqa: PLC0415  # keeps --help fast

    if not databases and not tables:
        return None
    for pattern in tables:
        database, dot, table = pattern.partition(".")
        if not (database and dot and table):
            if dot:
                raise ConfigError(options.TABLE, pattern=pattern)
            raise ConfigError(options.TABLE_MEANT, pattern=pattern, meant=f"{pattern}.*")
    return TableFilter([*(f"{database}.*" for database in databases), *tables])
