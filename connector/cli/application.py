"""The tree of commands in typer: all of them, or only the one that was called.

A command costs time when the tree is made: its module is imported, and typer makes a validator for
each of its options. The commands have their own order, an answer to an unknown name, and for logs
their own exit code for wrong arguments.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from connector.cli import command_errors, examples
from connector.cli.arguments import Grouped
from connector.cli.exit_codes import EXIT_ARGUMENTS
from connector.foundation.errors.message import Message
from connector.foundation.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer import Context


# `states` is not a typing error for `stat`, although the two have a similarity of 0.8.
_NEAR = 0.81


class Commands(TyperGroup):
    """Commands in the order in which they were added."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names; if there is none, list all."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            meant = nearest(name, known, _NEAR)
            message = Message(command_errors.UNKNOWN_COMMAND, {"name": name, "known": known})
            if meant is not None:
                facts = {"name": name, "known": known, "meant": meant}
                message = Message(command_errors.UNKNOWN_COMMAND_MEANT, facts)
            context: Context = ctx
            context.fail(str(message))
        return super().resolve_command(ctx, args)


# Click's UsageError, which has different names in versions of typer.
_UsageError: Any = typer.BadParameter.__mro__[1]


class LogCommand(TyperCommand):
    """A command that ends with EXIT_ARGUMENTS if its arguments are wrong."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments; a usage error ends the command with EXIT_ARGUMENTS."""
        try:
            return super().make_context(*args, **kwargs)
        except _UsageError as error:
            from typer.rich_utils import rich_format_error  # noqa: PLC0415  # takes long to import

            # As typer does, which ends with 2 then.
            rich_format_error(error)
            raise typer.Exit(EXIT_ARGUMENTS) from error


# In the order of the help: the module of `connector.cli` that has each command, and what typer is
# told of it.
_COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "run": ("daemon", {"epilog": examples.RUN}),
    "check": ("daemon", {"epilog": examples.CHECK}),
    "status": ("status", {"epilog": examples.STATUS}),
    "config": ("config", {"epilog": examples.CONFIG}),
    "import-debezium": ("import_debezium", {"epilog": examples.IMPORT_DEBEZIUM}),
    "snapshot": ("snapshot", {"epilog": examples.SNAPSHOT}),
    "verify": ("verify", {"epilog": examples.VERIFY}),
    "explain": ("explain", {}),
    "rules": ("rules", {"epilog": examples.RULES}),
    "demo": ("demo", {"epilog": examples.DEMO}),
    "dump": ("dump", {"cls": LogCommand, "epilog": examples.DUMP}),
    "stat": ("stat", {"cls": LogCommand, "epilog": examples.STAT}),
    "flashback": ("flashback", {"cls": LogCommand, "epilog": examples.FLASHBACK}),
    "quarantine": ("quarantine", {}),
}


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the command line, with only the command that the first of `arguments` names.

    It has all commands if that is something else, such as an option.
    """
    app = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        # Of the commands, too.
        context_settings={"help_option_names": ["-h", "--help"]},
        # Paragraphs of the docstrings are wrapped to the terminal.
        rich_markup_mode="markdown",
        # A traceback with local values would show rows and passwords.
        pretty_exceptions_enable=False,
        help="Streams every change of a MySQL or MariaDB server into Kafka, exactly once and in "
        "order, and reads binlogs.",
        epilog=examples.ALL,
    )
    app.callback()(_options)
    called = arguments[0] if arguments else ""
    for name in [called] if called in _COMMANDS else _COMMANDS:
        module, told = _COMMANDS[name]
        command = getattr(import_module(f"connector.cli.{module}"), name.replace("-", "_"))
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        elif isinstance(command, Grouped):
            app.command(**told)(command.for_typer())
        else:
            app.command(**told)(command)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from connector.cli.arguments import print_version  # noqa: PLC0415  # not for others

        print_version()
        raise typer.Exit


def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass
