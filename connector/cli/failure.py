"""An error becomes a line on standard error and an exit code."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NoReturn

from connector.errors import ConnectorError, fields

if TYPE_CHECKING:
    from rich.console import Console


@cache
def errors() -> Console:
    """Return the console on standard error."""
    from rich.console import Console  # noqa: PLC0415  # most commands say nothing there

    return Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)


def tell(error: ConnectorError) -> None:
    """Print an error on standard error."""
    errors().print("error:", style="bold red", end=" ")
    errors().print(str(error), markup=False)


def fail(error: ConnectorError, code: int) -> NoReturn:
    """Print an error and end with `code`."""
    tell(error)
    raise SystemExit(code) from error


def warn(text: str) -> None:
    """Print a warning."""
    errors().print("warning:", style="bold yellow", end=" ")
    errors().print(text, markup=False)


def log_failure(error: ConnectorError, code: int) -> NoReturn:
    """Log the error as the last line of a log for machines, and end with `code`."""
    from structlog import get_logger  # noqa: PLC0415  # keeps --help fast

    get_logger().error("failed", **fields(error), exit_code=code)
    raise SystemExit(code) from error
