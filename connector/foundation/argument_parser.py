"""The reader of arguments of `binlog-connector`: argparse, with what users expect beyond it.

Options may stand between other words, and a value may begin with a hyphen. A mistyped option is
answered by the nearest one. Help has commands, groups of options and examples; on a terminal it has
colours. Nothing is imported for help before somebody asks for it, because each command makes a
parser when it starts.
"""

import argparse
import math
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple, NoReturn, TextIO

from connector.foundation.errors.message import nearest
from connector.foundation.errors.secrets_in_urls import url_without_secrets, without_secrets

EXIT_USAGE: Final = 2

# Longer lines are hard to read.
_WIDTH_MAX: Final = 100
_WIDTH_UNKNOWN: Final = 80
# Where the text of an option begins.
_COLUMN: Final = 26
_BOLD, _YELLOW, _CYAN, _RED, _PLAIN = ("\x1b[1m", "\x1b[1;33m", "\x1b[36m", "\x1b[1;31m", "\x1b[0m")
_COLOURED: Final = (
    r"(?m)^(?P<heading>Usage:|[A-Z][^\n]*:$)"
    r"|`(?P<code>[^`]+)`"
    r"|(?<![\w./-])(?P<option>--?[a-zA-Z][\w-]*)"
)


class Example(NamedTuple):
    """A command line without the name of the program, and what it is for."""

    command: str
    purpose: str


class ArgumentParser(argparse.ArgumentParser):
    """Reads the words after a command, and prints its help."""

    def __init__(self, program: str, text: str, *, exit_code: int = EXIT_USAGE) -> None:
        """Take the program with its command, paragraphs of help, and the code of a usage error."""
        super().__init__(
            prog=program, formatter_class=_HelpFormatter, add_help=False, allow_abbrev=False
        )
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        self.add_argument("--help", "-h", action="help", help="Show this message and exit.")
        self.text = text
        self.commands: Mapping[str, str] = {}
        self.examples: list[Example] = []
        self._exit_code = exit_code
        self._words: list[str] = []
        # Python 3.14 has colours of its own.
        self.color = False

    def describe(self, text: str, *examples: tuple[str, str]) -> None:
        """Add paragraphs, and command lines with their purposes."""
        if text:
            self.text += f"\n\n{text.strip()}"
        self.examples += [Example(*each) for each in examples]

    def read(self, words: Iterable[str]) -> argparse.Namespace:
        """Return the arguments in `words`; a usage error ends the process.

        `given` of them names those that `words` have, each with its name in the help.
        """
        self._words = list(words)
        ordered = self._in_order(self._words)
        found = self.parse_args(ordered)
        options = (self.option(word) for word in takewhile(lambda word: word != "--", ordered))
        given = {action.dest: action.option_strings[0] for action in options if action is not None}
        for action in self.positionals():
            if getattr(found, action.dest) != action.default:
                given[action.dest] = str(action.metavar or action.dest)
        found.given = given
        return found

    def _in_order(self, words: Iterable[str]) -> list[str]:
        """Return the options, each with its value, and then all other words.

        argparse would end a list of words at an option, and take a value with a hyphen for one.
        """
        options: list[str] = []
        others: list[str] = []
        left = deque(words)
        while left:
            word = left.popleft()
            if word == "--":
                others += left
                break
            if word == "-" or not word.startswith("-"):
                others.append(word)
                continue
            action = self.option(word)
            if action is None:
                self._refuse_option(word.partition("=")[0])
            takes_value = action.nargs is None and word in action.option_strings
            options.append(f"{word}={left.popleft()}" if takes_value and left else word)
        return [*options, "--", *others] if others else options

    def option(self, word: str) -> argparse.Action | None:
        """Return the option that a word names: `--key`, `--key=value`, `-k` or `-kvalue`."""
        actions = self._option_string_actions
        name = word.partition("=")[0]
        return actions.get(name) or (None if word.startswith("--") else actions.get(word[:2]))

    def options(self) -> dict[str, argparse.Action]:
        """Return each option by each of its names."""
        return self._option_string_actions

    def positionals(self) -> list[argparse.Action]:
        """Return what takes the words that belong to no option."""
        return self._get_positional_actions()

    def _refuse_option(self, name: str) -> NoReturn:
        meant = nearest(name, self.options())
        self.error(f"no such option: {name}{'' if meant is None else f'; did you mean {meant}?'}")

    def error(self, message: str) -> NoReturn:
        """Print how the command is used and what is wrong, and end the process."""
        self.print_usage(sys.stderr)
        head = f"{_RED}error:{_PLAIN}" if has_colours(sys.stderr) else "error:"
        shown = without_secrets(self._without_urls_of_words(message))
        self.exit(self._exit_code, f"Try '{self.prog} --help'.\n{head} {shown}\n")

    def _without_urls_of_words(self, message: str) -> str:
        """Return a message without the secrets of URLs in words, which may have white space.

        argparse repeats a word or the value in it, as it is or as Python writes it.
        """
        for word in self._words:
            for said in (word, word.partition("=")[2], word[2:]):
                shown = url_without_secrets(said)
                if shown != said:
                    message = message.replace(said, shown)
                    message = message.replace(repr(said)[1:-1], repr(shown)[1:-1])
        return message

    def print_help(self, file: Any = None) -> None:
        """Print the help, by default on standard output."""
        out = sys.stdout if file is None else file
        text = self.format_help()
        out.write(re.sub(_COLOURED, _painted, text) if has_colours(out) else text)

    def format_help(self) -> str:
        """Return the help without colours."""
        width = text_width()
        self.description = "\n\n".join(
            _filled(block, width) for block in re.split(r"\n\s*\n", self.text)
        )
        parts = []
        if self.commands:
            column = max(map(len, self.commands)) + 4
            rows = (
                _filled(summary, width, f"  {name}".ljust(column), " " * column)
                for name, summary in self.commands.items()
            )
            parts.append("\n".join(["Commands:", *rows]))
        if self.examples:
            program = self.prog.partition(" ")[0]
            rows = (f"  {each.purpose}:\n    {program} {each.command}" for each in self.examples)
            parts.append("\n".join(["Examples:", *rows]))
        self.epilog = "\n\n".join(parts)
        return super().format_help()


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Names only the words of a command in its usage, because it has many options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_COLUMN, width=text_width())

    def add_usage(
        self, usage: str | None, actions: Iterable[Any], groups: Any, prefix: str | None = None
    ) -> None:
        del groups, prefix
        words = [self._format_args(each, each.dest) for each in actions if not each.option_strings]
        line = " ".join(["%(prog)s [OPTIONS]", *([usage] if usage else words)])
        super().add_usage(line, (), (), "Usage: ")

    def add_arguments(self, actions: Iterable[argparse.Action]) -> None:
        super().add_arguments(sorted(actions, key=lambda action: action.dest == "help"))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default, text = action.default, action.help
        has_default = action.nargs in (None, argparse.OPTIONAL) and default not in (None, "", [])
        return f"{text} [default: %(default)s]" if has_default else text


class Switch(argparse.Action):
    """An option with two names: the first turns something on, the second off."""

    def __init__(self, option_strings: Sequence[str], dest: str, **facts: Any) -> None:
        """Take what argparse takes."""
        super().__init__(option_strings, dest, nargs=0, **facts)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Turn it on or off."""
        del parser, values
        setattr(namespace, self.dest, option_string == self.option_strings[0])


def whole_number(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers, `least` or more."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            message = f"{text!r} is not a whole number of {least} or more"
            raise argparse.ArgumentTypeError(message)
        return number

    return read


def decimal_number(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return a reader of numbers from `least` to `most`."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            limit = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
            message = f"{text!r} is not a number of {limit}"
            raise argparse.ArgumentTypeError(message)
        return number

    return read


def text_width() -> int:
    """Return the width of text that is filled: of the terminal, but not of a wide one."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return min(int(columns), _WIDTH_MAX)
    try:
        return min(os.get_terminal_size(sys.__stdout__.fileno()).columns, _WIDTH_MAX)  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        return _WIDTH_UNKNOWN


def _filled(text: str, width: int, first: str = "", others: str = "") -> str:
    import textwrap  # noqa: PLC0415  # for help alone

    return textwrap.fill(
        " ".join(text.split()), width, initial_indent=first, subsequent_indent=others,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def has_colours(out: TextIO) -> bool:
    """Return whether to write colours: to a terminal, unless the environment refuses them."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and out.isatty()


def _painted(found: re.Match[str]) -> str:
    if found["heading"]:
        return f"{_YELLOW}{found['heading']}{_PLAIN}"
    if found["code"]:
        return f"{_BOLD}{found['code']}{_PLAIN}"
    return f"{_CYAN}{found['option']}{_PLAIN}"
