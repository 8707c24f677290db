"""`explain`: the meaning of an error code, its cause, and its fix; codes by words of an error.

The words can be from our texts, or from a server's.
"""

import re
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from string import Formatter
from textwrap import wrap

from connector.cli import command_errors
from connector.cli.exit_codes import say
from connector.foundation.argument_parser import has_colours, text_width
from connector.foundation.errors import ConfigError
from connector.foundation.errors.catalogue import GROUPS, codes, example, reasons, retired, texts
from connector.foundation.errors.code import End, ErrorCode, Scope
from connector.foundation.errors.message import Message
from connector.replication.server.server_error_numbers import codes_of_words

# Shorter words say little.
_WORD = re.compile(r"\w{3,}")
# With fewer of the words, a text is about something else.
_PART_MIN = 0.5
_RESULTS_MAX = 10
# Where the text beside a code begins.
_COLUMN = 6
_BOLD, _DIM, _ITALIC, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[0m"


def codes_with(text: str) -> list[ErrorCode]:
    """Return the codes that `text` is about, the likeliest first; it may be a line of a log.

    A code in it counts alone, or the one that replaced it. Then come the numbers and the words of
    database servers, and then the words of our own texts, causes and fixes: all of the words, else
    the rarest ones.
    """
    known = codes()
    current = {number: number for number in known} | {
        number: code.code for number, code in retired().items() if code.code
    }
    if named := [word for word in re.findall(r"\[([A-Z]\d{3})\]", text) if word in current]:
        return [known[number] for number in dict.fromkeys(current[word] for word in named)]
    wanted = set(_WORD.findall(text.lower()))
    has = {
        number: {word for word in wanted if word in said}
        for number, said in ((number, _text_of(code)) for number, code in known.items())
    }
    count = Counter(word for words in has.values() for word in words)
    complete = [number for number, words in has.items() if wanted and words == wanted]
    least = max(1, len(wanted) * _PART_MIN)
    similar = [number for number, words in has.items() if len(words) >= least]
    similar.sort(key=lambda number: -sum(1 / count[word] for word in has[number]))
    of_servers = [code.code for code in codes_of_words(text)]
    found = dict.fromkeys([*of_servers, *(complete or similar)])
    return [known[number] for number in found][:_RESULTS_MAX]


def _text_of(code: ErrorCode) -> str:
    parts = (
        str(Message(code, example(code))),
        *texts(code),
        code.fix,
        code.url_fix or "",
        code.cause,
    )
    return "\n".join(parts).lower()


_CODE = re.compile(r"[A-Z]\d{1,4}")
_ENDS = {
    End.CONFIGURATION: "The command ends with exit code 2. Nothing was done.",
    End.DEFINITE: "The command ends with exit code 3. Without the fix, a restart does not help.",
    End.INTERRUPTED: "The command ends with exit code 130. The next start goes on.",
    End.PASSING: (
        "`run` tries again, for retry.refused_seconds if it has streamed before, else for 10 "
        "seconds. Then it ends with exit code 3, as every other command does at once."
    ),
    End.RETRIED: (
        "`run` tries again after a pause, and goes on from what was committed. After "
        "retry.attempts_max attempts it ends with exit code 1."
    ),
    End.COMMAND: "The command has waited long enough, and ends with exit code 1.",
    End.FAILED: "The demo, or the Spark job, ends with exit code 1.",
    End.LOGGED: "Nothing ends. This is a line of the log.",
}


_ASIDE = (
    "Only the table is concerned, and all others go on: the table goes to quarantine, or its copy "
    'fails. With quarantine.policy = "stop", and in other commands, it ends with exit code 3. The '
    "Spark job sets the table aside."
)
_SCOPES = {
    Scope.TABLE: _ASIDE,
    Scope.PLACE: f"It ends with exit code 3, but in rows of a table, or for its topic: {_ASIDE}",
}


def run(arguments: Namespace) -> int:
    """Show a code, the codes that words are about, or all codes."""
    words: list[str] = arguments.words
    if not words:
        say(_all_codes())
        return 0
    given = " ".join(words)
    if (replaced := retired().get(_number(given))) is not None:
        say(_replaced(_number(given), replaced))
        return 0
    found = _found(given)
    say(_page(found[0]) if len(found) == 1 else _some_codes(found))
    return 0


def _found(given: str) -> list[ErrorCode]:
    known = codes()
    wanted = _number(given)
    if wanted in known:
        return [known[wanted]]
    if _CODE.fullmatch(wanted):
        if similar := get_close_matches(wanted, [*known, *retired()], n=3):
            raise ConfigError(command_errors.SIMILAR_CODE, code=given, similar=similar)
        raise ConfigError(command_errors.UNKNOWN_CODE, code=given)
    if found := codes_with(given):
        return found
    raise ConfigError(command_errors.UNKNOWN_CODE, code=given)


def _number(given: str) -> str:
    return given.strip().strip("[]").upper()


def _replaced(number: str, code: ErrorCode) -> str:
    """Return what a retired number meant, and what replaced it."""
    if code.code:
        return f"{number} was replaced by {code}: {shown(code.what)}\n\n{_page(codes()[code.code])}"
    return (
        f"{number} was a part of the texts of other codes: {shown(code.what)}\n"
        "Look at the code in brackets before the text."
    )


def _some_codes(found: Iterable[ErrorCode]) -> str:
    lines = []
    for code in found:
        cause = code.cause.partition(". ")[0].removesuffix(".")
        lines += _row(code.code, _summary(code))
        lines += [_styled(_DIM, line) for line in _row("", f"{cause}.")]
    return "\n".join([*lines, "`binlog-connector explain CODE` has cause and fix"])


def _all_codes() -> str:
    groups = []
    for letter, title in GROUPS.items():
        rows = [
            line
            for number, code in codes().items()
            if number.startswith(letter)
            for line in _row(number, _summary(code))
        ]
        if rows:
            groups.append("\n".join([_styled(_ITALIC, title), *rows, ""]))
    return "\n".join(groups).removesuffix("\n")


def _row(number: str, text: str) -> list[str]:
    """Return the lines of a code and what is said of it; without a code, they continue others."""
    first, *others = wrap(text, text_width() - _COLUMN, break_on_hyphens=False)
    head = _styled(_BOLD, number) + " " * (_COLUMN - len(number))
    return [head + first, *(" " * _COLUMN + line for line in others)]


def _styled(style: str, text: str) -> str:
    return f"{style}{text}{_PLAIN}" if text and has_colours(sys.stdout) else text


def _summary(code: ErrorCode) -> str:
    """Return the text of a code, or the first one, and how many others it has."""
    first, *others = texts(code)
    return f"{shown(first)} (or one of {len(others)} other reasons)" if others else shown(first)


def _page(code: ErrorCode) -> str:
    if reasons(code):
        text = "\n  ".join(map(shown, texts(code)))
        fix = shown(code.fix) or "What the text says; if it says nothing, nothing has to be done."
        parts = [("Texts", text), ("Cause", code.cause), ("Fix", fix), ("Then", _then(code))]
    else:
        parts = [
            ("Text", shown(code.what)),
            ("Cause", code.cause),
            ("Fix", shown(code.fix) or "Nothing has to be done."),
            ("Then", _then(code)),
            ("Example", str(Message(code, example(code)))),
        ]
    lines = [_styled(_BOLD, f"{code}  {GROUPS[code.code[0]]}")]
    for name, text in parts:
        shown_text = f"{text[:1].upper()}{text[1:]}" if name == "Fix" else text
        lines += ["", _styled(_BOLD, name), f"  {shown_text}"]
    return "\n".join(lines)


def _then(code: ErrorCode) -> str:
    """Return what becomes of a command, or of the stream."""
    if code.end in (End.DEFINITE, End.FAILED) and code.scope in _SCOPES:
        return _SCOPES[code.scope]
    return _ENDS[code.end]


def shown(template: str) -> str:
    """Return a template in readable form: `{ends:lines}` as <ends>."""
    parts = []
    for literal, name, _, _ in Formatter().parse(template):
        parts.append(literal)
        if name is not None:
            parts.append(name if "." in name else f"<{name.replace('_', ' ')}>")
    return "".join(parts)
