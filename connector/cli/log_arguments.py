"""The arguments of the commands for logs, `dump`, `stat` and `flashback`, which share groups.

A wrong argument of such a command ends it with 1, not with 2 as in other commands, because there 2
means a truncated log.
"""

from argparse import ArgumentTypeError, _ArgumentGroup
from datetime import UTC, datetime
from pathlib import Path

from connector.cli import command_errors
from connector.foundation.argument_parser import ArgumentParser, Switch, whole_number
from connector.foundation.errors.message import Message
from connector.logs.dump import Format


def dump(parser: ArgumentParser) -> None:
    """Declare the arguments of `dump`."""
    parser.describe(
        """
        Without a log name, --source reads from the server's first log to the end of its last.

        Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 a
        file ends inside an event, 3 corrupt or undecodable, 4 not a binlog, encrypted, or an
        unsupported storage format.
        """,
        ("dump binlog.000042", "as mysqlbinlog -vvv does"),
        (
            "dump --format json --table 'shop.*' binlog.000042.gz",
            "one JSON object an event",
        ),
        ("dump --start-datetime 2026-01-31T12:00 binlog.000042", "from a time on, in UTC"),
        ("dump --source mysql://repl@db binlog.000042 --stop-never", "follow a server"),
    )
    _logs(parser)
    _writing(parser)
    selection = _selection(parser)
    selection.add_argument(
        "--type",
        dest="types",
        action="append",
        default=[],
        metavar="PATTERN",
        help="Only events of this type, such as QUERY or WRITE_ROWS*; may be repeated.",
    )
    _reading(parser)
    _server(parser)


def stat(parser: ArgumentParser) -> None:
    """Declare the arguments of `stat`."""
    parser.describe(
        """
        The counts are shown even if an error ends the reading.

        Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 a
        file ends inside an event, 3 corrupt or undecodable, 4 not a binlog, encrypted, or an
        unsupported storage format.
        """,
        ("stat binlog.000041 binlog.000042", "events, tables and transactions of two files"),
        ("stat --format json binlog.000042", "as one JSON document"),
        ("stat --source mysql://repl@db binlog.000042", "a log of a server"),
    )
    _logs(parser)
    _server(parser)
    parser.add_argument(
        "--format",
        choices=["table", "json"],
        default="table",
        help="Tables for people, or one JSON document.",
    )
    _checksum(parser)


def flashback(parser: ArgumentParser) -> None:
    """Declare the arguments of `flashback`."""
    parser.describe(
        """
        The logs must have the column names (binlog_row_metadata=FULL) and whole rows
        (binlog_row_image=FULL). If any change cannot be undone, no SQL is printed. Read the SQL
        before you run it, and run it while no other client changes the tables.

        Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 the
        last file ends inside an event (complete transactions are undone), 3 corrupt, undecodable or
        impossible to undo, 4 not a binlog, encrypted, or an unsupported storage format.
        """,
        (
            "flashback --table shop.orders binlog.000042 > undo.sql",
            "undo one table's changes",
        ),
        (
            (
                "flashback --start-datetime 2026-01-31T12 --stop-datetime 2026-01-31T12:05 "
                "binlog.000042"
            ),
            "undo five minutes",
        ),
        ("flashback --source mysql://repl@db binlog.000042", "of a log of a server"),
    )
    _logs(parser)
    _selection(parser)
    _server(parser)
    parser.add_argument(
        "--omit-column",
        dest="omit_columns",
        action="append",
        default=[],
        metavar="DATABASE.TABLE.COLUMN",
        help="A generated column, which no statement may set; may be repeated.",
    )
    _checksum(parser)


def _logs(parser: ArgumentParser) -> None:
    parser.add_argument(
        "logs",
        nargs="*",
        default=[],
        metavar="LOG",
        help="Files in their order, also compressed by gzip or zstd; `-` is standard input. With "
        "--source, names of the server's logs.",
    )


def _writing(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("How it is written")
    group.add_argument(
        "--format",
        choices=[each.value for each in Format],
        default=Format.TEXT.value,
        help="events: as SHOW BINLOG EVENTS; text: as mysqlbinlog -vvv; json: one object an event; "
        "envelope: the Kafka records of `run`.",
    )
    group.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="Where to write. [default: standard output]",
    )
    group.add_argument(
        "--hexdump", action="store_true", help="Show the bytes of each event, too (text)."
    )
    group.add_argument(
        "--apply-diffs",
        action="store_true",
        help="Show documents, not the changes of partial updates (json).",
    )
    group.add_argument(
        "--topic-prefix",
        default="cdc",
        metavar="PREFIX",
        help="Prefix of the topics, as in kafka.topic_prefix (envelope).",
    )


def _reading(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("How the logs are read")
    _checksum(group)
    group.add_argument(
        "--recover",
        action="store_true",
        help="Skip unreadable parts and report each gap; then the exit code is 3.",
    )
    group.add_argument(
        "--jobs",
        type=whole_number(1),
        default=1,
        metavar="N",
        help="Read up to N files at the same time, each in a process of its own.",
    )
    group.add_argument(
        "--stop-never",
        "--non-block",
        action=Switch,
        default=False,
        help="Wait for more events at the end of the log, or stop there.",
    )


def _checksum(group: ArgumentParser | _ArgumentGroup) -> None:
    group.add_argument(
        "--verify-checksum",
        "--no-verify-checksum",
        action=Switch,
        default=True,
        help="Whether an event with a wrong checksum is an error.",
    )


def _server(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("From a server")
    group.add_argument(
        "--source",
        metavar="URL",
        help="Read the logs of the server mysql://USER[:PASSWORD]@HOST[:PORT]. Without a password "
        "and --password-env it is asked for on a terminal.",
    )
    group.add_argument(
        "--password-env",
        metavar="NAME",
        help="The environment variable that holds the password.",
    )
    group.add_argument(
        "--to-last-log",
        action="store_true",
        help="Read from the named log to the end of the last one.",
    )


def _selection(parser: ArgumentParser) -> _ArgumentGroup:
    """Declare which changes are selected, and where reading begins and ends."""
    group = parser.add_argument_group("Selection")
    group.add_argument(
        "--start-position",
        type=whole_number(4),
        metavar="N",
        help="Start at the event at this position of the first log.",
    )
    group.add_argument(
        "--stop-position",
        type=whole_number(4),
        metavar="N",
        help="Stop before the first event at or after this position of the last log.",
    )
    group.add_argument(
        "--start-datetime",
        type=_time,
        metavar="TIME",
        help="Start at the first event at or after this time, in ISO form; UTC without a zone.",
    )
    group.add_argument(
        "--stop-datetime",
        type=_time,
        metavar="TIME",
        help="Stop before the first event at or after this time.",
    )
    group.add_argument(
        "--include-gtids",
        metavar="SET",
        help="Only transactions of this set; a MariaDB position means all up to it.",
    )
    group.add_argument("--exclude-gtids", metavar="SET", help="No transactions of this set.")
    group.add_argument(
        "--database",
        dest="databases",
        action="append",
        default=[],
        metavar="PATTERN",
        help="Only changes of tables in this database; may be repeated.",
    )
    group.add_argument(
        "--table",
        dest="tables",
        action="append",
        default=[],
        metavar="DATABASE.TABLE",
        help="Only changes of this table; a pattern as in source.tables; may be repeated.",
    )
    group.add_argument(
        "--server-id",
        dest="server_ids",
        action="append",
        type=whole_number(0),
        default=[],
        metavar="N",
        help="Only events that this server wrote first; may be repeated.",
    )
    return group


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(str(Message(command_errors.TIME, {"text": text}))) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)
