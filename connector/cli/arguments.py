"""Options in groups, and command lines that are read without typer, which takes long to import.

A command has a parameter for each group of options::

    class Reading(NamedTuple):
        verify_checksum: VerifyChecksum = True

    @grouped
    def stat(*, logs: LogNames = None, reading: Reading) -> None: ...

Options are read as if the function had a parameter for each field of its records; then it is called
with the records. A record is a named tuple, which takes a seventh of the time of a frozen dataclass
to make. Typer has classes for options and arguments, but to import typer takes as long as to read a
log of many megabytes. So commands that read logs declare theirs by `Option` and `Argument`, and
typer gets them when it is needed.

Without typer, only the plain form is read: the commands that read logs, with names of files, and
with options whose values are words: `--table shop.orders`, `--hexdump`. Typer reads all else, gives
help and says what is wrong. What is read here means the same to typer.
"""

from __future__ import annotations

import sys
from enum import Enum
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

from connector.foundation import compiled
from connector.foundation.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


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


# With the modules of the same names, whose options are all declared by `connector.cli.arguments`.
_COMMANDS: Final = ("dump", "stat", "flashback")
# The option for a server, whose password typer may have to ask for.
_SERVER: Final = "source"


class _NotPlainError(Exception):
    """The arguments are left to typer."""


def plain_call(arguments: Sequence[str]) -> Callable[[], None] | None:
    """Return the call that `arguments` mean; None if they are not in the plain form."""
    if arguments == ["--version"]:
        # not for the others

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


# The default of a parameter that must be given.
REQUIRED: Final = object()


class Parameter(NamedTuple):
    """A parameter of a command, or a field of its records."""

    name: str
    annotation: Any
    default: Any  # REQUIRED without


class Grouped:
    """A command with groups of options."""

    def __init__(self, command: Callable[..., None]) -> None:
        """Take the options of `command`, all by name, from its annotations at their first use."""
        self._command = command

    def parameters(self) -> Iterator[Parameter]:
        """Yield each parameter, and each field of a record instead of that record."""
        defaults = self._command.__kwdefaults__ or {}
        for name, hint in self._hints().items():
            if _is_record(hint):
                in_record = hint._field_defaults
                for field, its_hint in get_type_hints(hint, include_extras=True).items():
                    yield Parameter(field, its_hint, in_record.get(field, REQUIRED))
            else:
                yield Parameter(name, hint, defaults.get(name, REQUIRED))

    def __call__(self, **options: Any) -> None:
        """Run the command; options that are not given have their defaults."""
        arguments = dict(options)
        for name, group in self._hints().items():
            if _is_record(group):
                given = [each for each in group._fields if each in arguments]
                arguments[name] = group(**{each: arguments.pop(each) for each in given})
        self._command(**arguments)

    def for_typer(self) -> Callable[..., None]:
        """Return a function with a parameter for each option, as typer needs it."""
        from inspect import Parameter as Named  # noqa: PLC0415  # for typer alone
        from inspect import Signature  # noqa: PLC0415  # for typer alone

        def called(**options: Any) -> None:
            self(**options)

        named = [
            Named(
                each.name,
                Named.KEYWORD_ONLY,
                default=Named.empty if each.default is REQUIRED else each.default,
                annotation=_for_typer(each.annotation),
            )
            for each in self.parameters()
        ]
        called.__name__ = self._command.__name__
        called.__doc__ = self._command.__doc__
        called.__signature__ = Signature(named)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in named}
        return called

    def _hints(self) -> dict[str, Any]:
        hints = get_type_hints(self._command, include_extras=True)
        del hints["return"]
        return hints


def grouped(command: Callable[..., None]) -> Grouped:
    """Return `command` with an option for each field of its records."""
    return Grouped(command)


def _for_typer(annotation: Any) -> Any:
    """Return an annotation with what typer knows instead of what was declared."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *others = get_args(annotation)
    told = [each.for_typer() if isinstance(each, Declared) else each for each in others]
    return Annotated[(kind, *told)]


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple)


def print_version() -> None:
    """Print the version, and how the hot path runs."""
    sys.stdout.write(f"binlog-connector {VERSION} ({compiled.description()})\n")
