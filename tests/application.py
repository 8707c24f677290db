"""The command line in this process."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.cli.commands import COMMANDS, Command, command_of, execute, parser_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.foundation.argument_parser import ArgumentParser


@dataclass
class Done:
    """What a command left."""

    exit_code: int
    stdout: str
    stderr: str


def invoke(arguments: Sequence[str], data: bytes = b"") -> Done:
    """Run a command with `data` on its standard input; what it does not handle is raised."""
    out, errors = _Output(), _Output()
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(data), "utf-8"), out, errors
    try:
        code = execute(arguments)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        code = end.code
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    return Done(code, out.text(), errors.text())


class _Output(io.TextIOWrapper):
    """A stream of text and bytes that is kept."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, "utf-8", newline="\n", write_through=True)

    def text(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode()


def commands() -> Iterator[tuple[list[str], Command]]:
    """Yield every command that runs, with its names."""
    for name, command in COMMANDS.items():
        if command.commands:
            yield from (([name, inner], command.commands[inner]) for inner in command.commands)
        else:
            yield [name], command


def parser(*names: str) -> ArgumentParser:
    """Return the parser of a command, or of the program."""
    found, command, rest = command_of(names)
    assert not rest
    return parser_of(found, command)
