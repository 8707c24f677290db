"""The arguments of `binlog-connector-mirror`."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from connector.foundation.argument_parser import ArgumentParser
from connector.foundation.table_view import add_table_view

_PROGRAM: Final = "binlog-connector-mirror"


class Command(NamedTuple):
    """A command: one line of help, the rest of it, and command lines with their purposes."""

    summary: str
    text: str
    examples: tuple[tuple[str, str], ...] = ()


# In the order of the help.
COMMANDS: Final[Mapping[str, Command]] = {
    "run": Command(
        "Keep the tables equal until SIGTERM.",
        """
        Exit codes: 0 stopped on request, or nothing is left (trigger "availableNow"), 1 failed;
        starting again may help, 2 wrong configuration, 3 another process took over the mirror, or
        it belongs to another job.

        Several configurations, or a folder of them, run as separate pipelines in one process, with
        one Spark session. None stops the others: one that fails is restarted after a minute. The
        process ends after SIGTERM, or when no pipeline is left, with 1 if the last run of one has
        failed, 3 if one was refused, else 0.
        """,
        (
            ("run stream_job.toml", "one pipeline"),
            ("run shop.toml crm.toml", "two pipelines in one process"),
        ),
    ),
    "status": Command(
        "Show the tables, without Spark.",
        """
        Tables that cannot continue come first, then those whose records wait longest, then those
        that changed last.

        Exit codes: 0 the job processes all tables, or was stopped after "availableNow", 1 records
        have waited for more than a minute, or Kafka or the storage does not answer, 2 wrong
        configuration, 3 a table is set aside, its mirror cannot be read, or Kafka has deleted
        records that it needs, 4 the job does not run: it has failed, was stopped, or is gone.
        """,
        (
            ("status stream_job.toml", "for people"),
            ("status stream_job.toml --table 'shop.*' --all", "all tables of a database"),
            ("status stream_job.toml --json", "one JSON object, with all tables"),
        ),
    ),
    "cuts": Command(
        "Show each cut: a moment of all tables.",
        """
        Exit codes: 0 all cuts are shown, the oldest first, 1 the storage does not answer, 2 wrong
        configuration.
        """,
        (
            ("cuts stream_job.toml", "for people"),
            ("cuts stream_job.toml --json", "one JSON object, with all versions"),
        ),
    ),
    "replica": Command(
        "Keep a database server equal to the mirror.",
        """
        Exit codes: 0 stopped on request, or the newest cut is applied (--once), 1 the target cannot
        take a cut; it has the cut before, 2 wrong configuration, 3 another process took over the
        replica.
        """,
        (
            ("replica stream_job.toml", "follow the cuts"),
            ("replica stream_job.toml --once", "apply the newest cut, and exit"),
        ),
    ),
    "resume": Command(
        "Resume tables that are set aside.",
        """
        If a record is skipped, its change is missing in the mirror until the row changes again. A
        mirror is rebuilt from the records that Kafka still has; if Kafka has deleted some, first
        run `binlog-connector snapshot CONNECTOR.toml shop.orders`.

        Exit codes: 0 the job has the request; its status lines report the result, 1 Kafka or the
        storage does not answer, 2 wrong configuration, or a table is not set aside.
        """,
        (
            ("resume stream_job.toml shop.orders", "after you have removed the cause"),
            ("resume stream_job.toml --all", "all tables that are set aside"),
            (
                "resume stream_job.toml shop.orders --skip-record 1:4711",
                "without the record at offset 4711 of partition 1",
            ),
            ("resume stream_job.toml shop.orders --rebuild", "rebuild the mirror"),
        ),
    ),
    "drop-shards": Command(
        "Remove the shards of a pipeline that is gone.",
        """
        Of a mirror that pipelines share, it removes the rows, columns and progress of one pipeline
        from all tables, and the pipeline's own files. CONFIG is the file of any job of this mirror.
        Without --yes, it only shows what it would remove. If it was interrupted, call it again.

        Exit codes: 0 all is shown, or removed, 1 the storage does not answer, or the other jobs
        commit all the time, 2 wrong configuration, or no such pipeline, 3 the job of the pipeline
        may still run.
        """,
        (
            ("drop-shards eu_job.toml us", "what the pipeline us has in the mirror"),
            ("drop-shards eu_job.toml us --yes", "remove it"),
        ),
    ),
}


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; a configuration file alone means `run`. Exits if they are wrong."""
    words = list(arguments)
    if not words or words[0].startswith("-"):
        program = parser_of()
        # Each option ends the process.
        program.read(words[:1])
        program.error("the following arguments are required: COMMAND")
    command = words.pop(0) if words[0] in COMMANDS else "run"
    parser = parser_of(command)
    found = parser.read(words)
    found.command = command
    if command == "resume":
        if bool(found.tables) == found.all:
            parser.error("name the tables, or use --all")
        if found.skip_record and len(found.tables) != 1:
            parser.error("--skip-record needs exactly one table")
    return found


def parser_of(name: str = "") -> ArgumentParser:
    """Return the parser of a command; without a name, that of the program."""
    if not name:
        return _program()
    command = COMMANDS[name]
    parser = ArgumentParser(f"{_PROGRAM} {name}", command.summary)
    parser.describe(command.text, *command.examples)
    explained = "`binlog-connector config stream_job.toml` explains the keys."
    if name == "run":
        text = f"TOML file, or a folder of them; {explained}"
        parser.add_argument("configs", nargs="+", type=Path, metavar="CONFIG", help=text)
        return parser
    parser.add_argument("config", type=Path, metavar="CONFIG", help=f"TOML file; {explained}")
    if name in ("status", "cuts"):
        parser.add_argument("--json", action="store_true", help="One JSON object.")
        if name == "status":
            add_table_view(parser, " The exit code is about these tables.")
    elif name == "replica":
        parser.add_argument("--once", action="store_true", help="Apply the newest cut, and exit.")
    elif name == "resume":
        _resumed(parser)
    elif name == "drop-shards":
        _dropped(parser)
    return parser


def _program() -> ArgumentParser:
    parser = ArgumentParser(
        _PROGRAM,
        "Keeps Delta tables equal to the tables of a source. A configuration file alone means "
        "`run`.",
    )
    parser.usage = "[COMMAND] CONFIG [ARGUMENT ...]"
    parser.commands = {name: command.summary for name, command in COMMANDS.items()}
    parser.describe(
        '`spark-submit --master URL "$(binlog-connector-mirror --script)" stream_job.toml` runs it '
        "in a cluster.",
        ("stream_job.toml", "keep the tables equal"),
        ("status stream_job.toml", "see each table"),
        ("cuts stream_job.toml", "see each cut"),
        ("replica stream_job.toml", "keep a database server equal"),
        ("resume stream_job.toml shop.orders", "resume a table"),
        ("drop-shards eu_job.toml us", "see what a pipeline that is gone has left"),
    )
    parser.add_argument(
        "--script",
        action=_PrintScript,
        nargs=0,
        help="Print the path of the script for spark-submit.",
    )
    return parser


class _PrintScript(argparse.Action):
    """Prints the path as it is; argparse would break it into lines."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it, and exit."""
        package = Path(__file__).resolve().parents[1]
        sys.stdout.write(f"{package / '__main__.py'}\n")
        parser.exit()


def _resumed(parser: ArgumentParser) -> None:
    """Declare what is resumed, and how."""
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="database.table, or its topic.")
    parser.add_argument("--all", action="store_true", help="Every table that is set aside.")
    parser.add_argument(
        "--skip-record",
        action="append",
        default=[],
        type=_record,
        metavar="PARTITION:OFFSET",
        help="Skip this record of the table; may be repeated.",
    )
    parser.add_argument(
        "--rebuild", action="store_true", help="Delete the mirror, and rebuild it from the topic."
    )


def _dropped(parser: ArgumentParser) -> None:
    """Declare whose shards are removed."""
    text = "The kafka.topic_prefix of the pipeline that is gone."
    parser.add_argument("prefix", type=_prefix, metavar="PREFIX", help=text)
    parser.add_argument("--yes", action="store_true", help="Remove them.")
    text = "The machine of its job is gone for good, so its process does not run any more."
    parser.add_argument("--lost-host", metavar="HOST", help=text)


def _prefix(text: str) -> str:
    # The help needs no settings.
    from connector.foundation.settings import values  # noqa: PLC0415

    if not re.fullmatch(values.TOPIC_PREFIX, text):
        message = f"{text!r} is not a kafka.topic_prefix: use letters, digits, _ and -"
        raise argparse.ArgumentTypeError(message)
    return text


def _record(text: str) -> tuple[int, int]:
    partition, colon, offset = text.partition(":")
    if not (colon and partition.isdecimal() and offset.isdecimal()):
        message = f"{text!r} is not PARTITION:OFFSET, such as 1:4711"
        raise argparse.ArgumentTypeError(message)
    return int(partition), int(offset)
