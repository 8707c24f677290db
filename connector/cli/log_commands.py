"""How typer runs the commands that read logs."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from connector.cli.log_exit_codes import EXIT_ARGUMENTS

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
