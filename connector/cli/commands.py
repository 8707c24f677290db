"""The commands: their table, the choice of one by the first words, and its run.

A command has a function of its name in the module of its arguments, and a module of its own with
`run`. That module is imported once the arguments are read, so help and wrong arguments cost no
imports of clients and servers.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn

from connector.cli import command_errors
from connector.cli.exit_codes import EXIT_ARGUMENTS, log_exit_codes, pipeline_exit_codes
from connector.cli.start import COMPLETION, PROGRAM, import_without_extras, print_version
from connector.foundation.argument_parser import EXIT_USAGE, ArgumentParser
from connector.foundation.errors.message import Message, nearest
from connector.foundation.errors.secrets_in_urls import url_without_secrets

# `states` is not a typing error for `stat`, although the two have a similarity of 0.8.
_NEAR: Final = 0.81
_LOGS, _PIPELINE, _TOOLS = "log_arguments", "pipeline_arguments", "tool_arguments"


class Command(NamedTuple):
    """A command: one line of help, and the module that has its arguments.

    A command with others in it has these in its place, and examples of them with their meaning.
    """

    summary: str
    arguments: str = ""
    commands: Mapping[str, Command] = {}
    examples: tuple[tuple[str, str], ...] = ()


# In the order of the help.
COMMANDS: Final[Mapping[str, Command]] = {
    "up": Command(
        "Keep tables in a folder equal to those of a source, without a broker.", _PIPELINE
    ),
    "run": Command("Stream changes into Kafka until SIGTERM or Ctrl-C.", _PIPELINE),
    "check": Command(
        "Check Kafka and the source: would `run` start? Nothing is changed.", _PIPELINE
    ),
    "status": Command(
        "Show what the pipeline does: state, lag, throughput, tables, position and events.",
        _PIPELINE,
    ),
    "config": Command(
        "Print a reference file: every key with its default, and when to change it.", _TOOLS
    ),
    "import-debezium": Command(
        "Write a configuration from the JSON of a Debezium connector for MySQL or MariaDB.",
        _PIPELINE,
    ),
    "snapshot": Command(
        "Copy tables again while the stream continues, and show the progress.", _PIPELINE
    ),
    "verify": Command(
        "Prove that mirrors or a replica equal the tables, or that topics have every change once.",
        "verify_arguments",
    ),
    "explain": Command(
        "Explain an error code: its text, the cause, the fix and an example.", _TOOLS
    ),
    "rules": Command(
        "Say how the source would log a statement, and by which rule; nothing is executed.", _TOOLS
    ),
    "demo": Command(
        "Show the whole pipeline on real servers: MySQL, Kafka, Spark, Delta. No Docker needed.",
        _TOOLS,
    ),
    "dump": Command("Show the events of binlogs.", _LOGS),
    "stat": Command(
        "Count the contents of binlogs: events by type, rows by table, large transactions, times.",
        _LOGS,
    ),
    "flashback": Command(
        "Print the SQL that undoes the row changes of binlogs, newest first.", _LOGS
    ),
    "quarantine": Command(
        "Show and replay changes that could not be written; docs/quarantine.md explains them.",
        commands={
            "list": Command(
                "List the changes that are held back: tables and keys, since when, how many, and "
                "why.",
                _PIPELINE,
            ),
            "show": Command(
                "Show records of the quarantine, decoded as far as possible.", _PIPELINE
            ),
            "replay": Command(
                "Write the held changes of a table, or of one key, and lift the fence.", _PIPELINE
            ),
        },
        examples=(
            ("quarantine list my.toml", "what is kept back, and why"),
            ("quarantine show my.toml shop.orders", "the records of a table"),
            ("quarantine replay my.toml shop.orders", "write them again"),
        ),
    ),
    "log": Command(
        "Move the log of a stopped pipeline between Kafka and a folder.",
        commands={
            "copy": Command(
                "Copy the log of one configuration into that of another, with the same offsets.",
                _PIPELINE,
            ),
        },
        examples=(("log copy shop.toml new.toml", "then start with new.toml"),),
    ),
}
_ROOT: Final = Command(
    "Streams every change of a MySQL or MariaDB server into Kafka, exactly once and in order, and "
    "reads binlogs.",
    commands=COMMANDS,
)


def execute(words: Sequence[str]) -> int:
    """Run the command that `words` name, and return its exit code.

    Raises SystemExit for wrong arguments, for options such as --help, and for errors.
    """
    if COMPLETION in os.environ:
        from connector.cli.completion import complete  # noqa: PLC0415  # for shells alone

        return complete(os.environ[COMPLETION], completions)
    names, command, rest = command_of(words)
    parser = parser_of(names, command)
    if command.commands:
        if not rest:
            parser.print_help()
            return EXIT_USAGE
        if rest[0].startswith("-"):
            # Each option ends the process.
            parser.read(rest[:1])
        _refuse_name(parser, rest[0])
    arguments = parser.read(rest)
    logs = command.arguments == _LOGS
    with log_exit_codes() if logs else pipeline_exit_codes():
        return function_of(names)(arguments)


def command_of(words: Sequence[str]) -> tuple[list[str], Command, list[str]]:
    """Return the names of the command that `words` begin with, the command, and the other words."""
    names: list[str] = []
    command = _ROOT
    rest = list(words)
    while rest and rest[0] in command.commands:
        names.append(rest.pop(0))
        command = command.commands[names[-1]]
    return names, command, rest


def parser_of(names: Sequence[str], command: Command) -> ArgumentParser:
    """Return the parser of a command, with its help."""
    code = EXIT_ARGUMENTS if command.arguments == _LOGS else EXIT_USAGE
    parser = ArgumentParser(" ".join([PROGRAM, *names]), command.summary, exit_code=code)
    if command.commands:
        parser.usage = "COMMAND [ARGUMENT ...]"
    parser.commands = {name: inner.summary for name, inner in command.commands.items()}
    if command.arguments:
        module: Any = import_module(f"connector.cli.{command.arguments}")
        getattr(module, "_".join(names).replace("-", "_"))(parser)
    elif names:
        parser.describe("", *command.examples)
    else:
        _describe_program(parser)
    return parser


def completions(words: list[str], begun: str) -> Iterator[tuple[str, str]]:
    """Yield what may follow `words` and begins with `begun`, with its help; nothing for files."""
    names, command, rest = command_of(words)
    parser = parser_of(names, command)
    known = parser.options()
    option = known.get(rest[-1]) if rest else None
    if option is not None and option.nargs is None:
        yield from _choices([option], begun)
    elif begun.startswith("-"):
        for name, action in known.items():
            if name.startswith(begun) and name.startswith("--"):
                yield name, action.help or ""
    elif command.commands:
        for name, summary in parser.commands.items():
            if name.startswith(begun):
                yield name, summary
    else:
        yield from _choices(parser.positionals(), begun)


def _choices(actions: Iterable[argparse.Action], begun: str) -> Iterator[tuple[str, str]]:
    for action in actions:
        for choice in action.choices or ():
            if choice.startswith(begun):
                yield choice, ""


def _describe_program(parser: ArgumentParser) -> None:
    parser.describe(
        "",
        ("config > my.toml", "a configuration to start from"),
        ("check my.toml", "what the servers need"),
        ("run my.toml", "stream into Kafka"),
        ("dump binlog.000042", "read a binlog"),
        (
            "--install-completion",
            "complete commands and options in this shell (bash, zsh, fish)",
        ),
    )
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="Print the version.")
    parser.add_argument(
        "--install-completion",
        action=_Completion,
        nargs=0,
        help="Install completion for the current shell.",
    )
    parser.add_argument(
        "--show-completion",
        action=_Completion,
        nargs=0,
        help="Show completion for the current shell, to copy it or customize the installation.",
    )


def _refuse_name(parser: ArgumentParser, name: str) -> NoReturn:
    known = list(parser.commands)
    meant = nearest(name, known, _NEAR)
    code = command_errors.UNKNOWN_COMMAND
    facts = {"name": url_without_secrets(name), "known": known}
    if meant is not None:
        code, facts["meant"] = command_errors.UNKNOWN_COMMAND_MEANT, meant
    parser.error(str(Message(code, facts)))


def function_of(names: Sequence[str]) -> Callable[[argparse.Namespace], int]:
    """Return `run` of a command's module, or `run_list` for `list` of the command in it."""
    if names[0] == "run":
        import_without_extras()
    module: Any = import_module(f"connector.cli.{names[0].replace('-', '_')}")
    function: Callable[[argparse.Namespace], int] = getattr(module, "_".join(["run", *names[1:]]))
    return function


class _PrintVersion(argparse.Action):
    """Prints the version."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print_version()
        parser.exit()


class _Completion(argparse.Action):
    """Installs completion for the current shell, or shows the script."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        from connector.cli import completion  # noqa: PLC0415  # for shells alone

        del namespace, values
        installs = option_string == "--install-completion"
        parser.exit(completion.install() if installs else completion.show())
