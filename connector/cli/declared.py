"""Options and arguments, as commands declare them in the annotations of their records.

Typer has classes for it, but to import typer takes as long as to read a log of many megabytes. So
commands that read logs declare theirs by these, and typer is told of them when it is needed.
"""

from __future__ import annotations

from typing import Any


class Declared:
    """What typer is told of an option or an argument."""

    def __init__(self, *names: str, **told: Any) -> None:
        """Take what typer's class of the same name takes."""
        self.names = names
        self.told = told

    def for_typer(self) -> Any:
        """Return typer's object for it."""
        import typer  # noqa: PLC0415  # takes long to import

        return getattr(typer, type(self).__name__)(*self.names, **self.told)


class Option(Declared):
    """An option; without names, that of its field."""


class Argument(Declared):
    """Words that belong to no option."""
