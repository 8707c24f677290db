"""An error becomes a line on standard error and an exit code."""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console

errors = Console(stderr=True, soft_wrap=True, highlight=False)


def tell(error: Exception) -> None:
    """Say what went wrong."""
    errors.print("error:", style="bold red", end=" ")
    errors.print(str(error), markup=False)


def fail(error: Exception, code: int) -> NoReturn:
    """Say what went wrong and end with `code`."""
    tell(error)
    raise typer.Exit(code) from error
