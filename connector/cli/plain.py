"""Command lines in their plain form are read without typer, which takes long to import.

Plain are the commands that read logs, with names of files, and with options whose values are words:
`--table shop.orders`, `--hexdump`. All else is left to typer, so that typer alone gives help and
says what is wrong. What is read here means the same to typer.
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, get_args

from connector.cli.declared import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from connector.cli.option_groups import Grouped, Parameter

# With the modules of the same names, whose options are all declared by `connector.cli.declared`.
_COMMANDS: Final = ("dump", "stat", "flashback")
# The option for a server, whose password typer may have to ask for.
_SERVER: Final = "source"


class _NotPlainError(Exception):
    """The arguments are left to typer."""


def plain_call(arguments: Sequence[str]) -> Callable[[], None] | None:
    """Return the call that `arguments` mean; None if they are not in the plain form."""
    if arguments == ["--version"]:
        from connector.cli.version import print_version  # noqa: PLC0415  # not for the others

        return print_version
    name, *words = arguments or [""]
    if name not in _COMMANDS:
        return None
    command: Grouped = getattr(import_module(f"connector.cli.{name}"), name)
    try:
        options = _Words(command, words).read()
    except _NotPlainError:
        return None
    return lambda: command(**options)


class _Words:
    """The words after the name of a command."""

    def __init__(self, command: Grouped, words: Sequence[str]) -> None:
        self._words = list(words)
        self._rest = ""  # the parameter that takes words without an option
        self._named: dict[str, tuple[Parameter, str]] = {}  # by the name of the option
        for parameter in command.parameters():
            declared = get_args(parameter.annotation)[1]
            if isinstance(declared, Argument):
                self._rest = parameter.name
            elif isinstance(declared, Option):
                for name in declared.names or [f"--{parameter.name.replace('_', '-')}"]:
                    self._named |= dict.fromkeys(name.split("/"), (parameter, name))

    def read(self) -> dict[str, Any]:
        """Return the values of the parameters that are given."""
        values: dict[str, Any] = {}
        while self._words:
            word = self._words.pop(0)
            if _is_value(word):
                values.setdefault(self._rest, []).append(word)
            elif word in self._named:
                parameter, name = self._named[word]
                self._take(parameter, name.partition("/")[0] == word, values)
            else:
                raise _NotPlainError
        return values

    def _take(self, parameter: Parameter, is_first: bool, values: dict[str, Any]) -> None:
        """Take the value of an option, which is named by its first or by its second name."""
        kind = get_args(parameter.annotation)[0]
        if kind is bool:
            values[parameter.name] = is_first
            return
        if parameter.name == _SERVER or not self._words or not _is_value(self._words[0]):
            raise _NotPlainError
        value = self._words.pop(0)
        if kind == list[str]:
            values.setdefault(parameter.name, []).append(value)
        elif kind in (str, str | None):
            values[parameter.name] = value
        elif isinstance(kind, type) and issubclass(kind, Enum):
            known = {each.value: each for each in kind}
            if value not in known:
                raise _NotPlainError
            values[parameter.name] = known[value]
        else:
            raise _NotPlainError


def _is_value(word: str) -> bool:
    """Return whether a word is no option; `-` is the name of standard input."""
    return not word.startswith("-") or word == "-"
