"""The arguments of `binlog-connector-mirror`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_PROGRAM: Final = "binlog-connector-mirror"
_COMMANDS: Final = ("run", "status", "cuts", "replica", "resume")

_ALL = """examples:
  binlog-connector-mirror stream_job.toml                    keep the tables equal
  binlog-connector-mirror status stream_job.toml             see each table
  binlog-connector-mirror cuts stream_job.toml               see each cut
  binlog-connector-mirror replica stream_job.toml            keep a database server equal
  binlog-connector-mirror resume stream_job.toml shop.orders try a table again
  spark-submit --master URL "$(binlog-connector-mirror --script)" stream_job.toml
                                                             run in a cluster
"""
_RUN = """exit codes:
  0  stopped on request, or nothing is left (trigger "availableNow")
  1  failed; starting again may help
  2  wrong configuration
  3  another process took over the mirror, or it belongs to another job
"""
_STATUS = """examples:
  binlog-connector-mirror status stream_job.toml             for people
  binlog-connector-mirror status stream_job.toml --json      one JSON object

exit codes:
  0  the job goes on with all tables, or was stopped after "availableNow"
  1  records wait for more than a minute, or Kafka or the storage do not answer
  2  wrong configuration
  3  a table is set aside, its mirror cannot be read, or Kafka has deleted what it needs
  4  the job does not run: it has failed, was stopped, or is gone
"""
_CUTS = """examples:
  binlog-connector-mirror cuts stream_job.toml               for people
  binlog-connector-mirror cuts stream_job.toml --json        one JSON object, with all versions

exit codes:
  0  all cuts are shown, the oldest first
  1  the storage does not answer
  2  wrong configuration
"""
_REPLICA = """examples:
  binlog-connector-mirror replica stream_job.toml            follow the cuts
  binlog-connector-mirror replica stream_job.toml --once     apply the newest cut, and end

exit codes:
  0  stopped on request, or the newest cut is applied (--once)
  1  the target cannot take a cut; it has the cut before
  2  wrong configuration
  3  another process took over the replica
"""
_RESUME = """examples:
  binlog-connector-mirror resume stream_job.toml shop.orders
      after the cause is gone
  binlog-connector-mirror resume stream_job.toml --all
      all tables that are set aside
  binlog-connector-mirror resume stream_job.toml shop.orders --skip-record 1:4711
      without the record at offset 4711 of partition 1; its change is missing in the mirror
      until the row changes again
  binlog-connector-mirror resume stream_job.toml shop.orders --rebuild
      throw the mirror away, and make it again from what Kafka has; if Kafka has deleted
      records, first: binlog-connector snapshot CONNECTOR.toml shop.orders

exit codes:
  0  the job was asked; its status lines tell what came of it
  1  Kafka or the storage do not answer
  2  wrong configuration, or a table is not set aside
"""


class _PrintScript(argparse.Action):
    """Prints the path as it is; argparse would break it into lines."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it, and exit."""
        package = Path(__file__).resolve().parents[1]
        sys.stdout.write(f"{package / '__main__.py'}\n")
        parser.exit()


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; a configuration file alone means `run`. Exits if they are wrong."""
    given = list(arguments)
    if given and not given[0].startswith("-") and given[0] not in _COMMANDS:
        given.insert(0, "run")
    parser, commands = parsers()
    parsed_arguments, others = parser.parse_known_args(given)
    if parsed_arguments.command == "resume":
        # argparse takes positional arguments that follow each other alone.
        parsed_arguments.tables += [argument for argument in others if not argument.startswith("-")]
        others = [argument for argument in others if argument.startswith("-")]
    if others:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    if parsed_arguments.command == "resume":
        resume = commands["resume"]
        if bool(parsed_arguments.tables) == parsed_arguments.all:
            resume.error("name the tables, or use --all")
        if parsed_arguments.skip_record and len(parsed_arguments.tables) != 1:
            resume.error("--skip-record needs exactly one table")
    return parsed_arguments


def parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the program, and those of its commands by their names."""
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Keeps Delta tables equal to the tables of a source. A configuration file "
        "alone means `run`.",
        epilog=_ALL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--script",
        action=_PrintScript,
        nargs=0,
        help="print the path of the script for spark-submit, and exit",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _command(commands, "run", "keep the tables equal until SIGTERM", _RUN)
    status = _command(commands, "status", "show each table, without Spark", _STATUS)
    status.add_argument("--json", action="store_true", help="one JSON object")
    cuts = _command(commands, "cuts", "show each cut: a moment of all tables", _CUTS)
    cuts.add_argument("--json", action="store_true", help="one JSON object")
    replica = _command(commands, "replica", "keep a database server equal to the mirror", _REPLICA)
    replica.add_argument("--once", action="store_true", help="apply the newest cut, and end")
    resume = _command(commands, "resume", "try tables again that are set aside", _RESUME)
    resume.add_argument("tables", nargs="*", metavar="TABLE", help="database.table, or its topic")
    resume.add_argument("--all", action="store_true", help="every table that is set aside")
    resume.add_argument(
        "--skip-record",
        action="append",
        default=[],
        type=_record,
        metavar="PARTITION:OFFSET",
        help="leave this record of the table out; may be repeated",
    )
    resume.add_argument(
        "--rebuild", action="store_true", help="throw the mirror away, and make it again"
    )
    return parser, commands.choices


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, does: str, more: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "config",
        type=Path,
        metavar="CONFIG",
        help="TOML file; `binlog-connector config stream_job.toml` explains the keys",
    )
    return parser


def _record(text: str) -> tuple[int, int]:
    partition, colon, offset = text.partition(":")
    if not (colon and partition.isdecimal() and offset.isdecimal()):
        message = f"{text!r} is not PARTITION:OFFSET, such as 1:4711"
        raise argparse.ArgumentTypeError(message)
    return int(partition), int(offset)
