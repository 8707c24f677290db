"""A code and its facts become text, for users of a configuration, of a URL or of a fence.

No other module composes texts of errors.

Text of a server, a log or a topic can hold anything: escape sequences that steer a terminal, line
breaks that begin a line of their own, and marks that turn the direction of writing. `visible` and
its kin show it as a person may see it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from string import Formatter
from typing import Any, Final

from connector.foundation.errors.code import End, ErrorCode
from connector.foundation.errors.secrets_in_urls import without_secrets


class Words(Enum):
    """Whether a message names settings or parts of a URL, and which fix it gives."""

    CONFIGURATION = "configuration"
    URL = "url"
    FENCE = "fence"  # as a configuration, for a change in quarantine


# `mysql://user:password@host:port/?ssl-mode=…` has these parts.
URL_WORDS = {
    "source.host": "the URL's host",
    "source.port": "the URL's port",
    "source.user": "the URL's user",
    "source.password": "the URL's password",
    "source.server_id": "server-id",
    "source.start": "start",
    "source.read_timeout_seconds": "the read timeout",
    "source.tls.mode": "ssl-mode",
    "source.tls.ca": "ssl-ca",
    "source.tls.certificate": "ssl-cert",
    "source.tls.key": "ssl-key",
    "source.tls.server_public_key": "server-public-key-path",
    "source.tls.get_server_public_key": "get-server-public-key",
    # Of those who read tables by a URL, only the first load of the Spark job has these settings.
    "snapshot.pace": "first_load.pace",
    "snapshot.pause_query": "first_load.pause_query",
}


# The owner of two parts is named once: "the URL's user and password".
_OWNER = "the URL's "
_BETWEEN_TWO = frozenset({" and ", " or "})


def setting(name: str, words: Words) -> str:
    """Return the name of a setting in `words`; its own name if a URL has no such part."""
    return URL_WORDS.get(name, name) if words is Words.URL else name


def second(shown: str, first: str, between: str) -> str:
    """Return a setting without its owner, if the setting `first` just before it names the owner.

    `between` is the text between the two; `first` is empty if there is no such setting.
    """
    same_owner = between in _BETWEEN_TWO and first.startswith(_OWNER)
    return shown.removeprefix(_OWNER) if same_owner else shown


_FORMATTER = Formatter()
# What ends like this may be over at the next attempt.
_MENDED = (End.RETRIED, End.PASSING)


class Message:
    """A code and its facts: the content of an error, or of a log line without one."""

    __slots__ = ("code", "facts", "words")

    def __init__(
        self, code: ErrorCode, facts: Mapping[str, object], words: Words = Words.CONFIGURATION
    ) -> None:
        """Raise TypeError unless `facts` are those that the templates of `code` name."""
        if facts.keys() != code.facts:
            odd = ", ".join(sorted(facts.keys() ^ code.facts))
            message = f"{code} does not have, or needs, the facts {odd}"
            raise TypeError(message)
        self.code = code
        self.facts = dict(facts)
        self.words = words

    @property
    def shown_code(self) -> ErrorCode:
        """The code; for a frame, the code of the error inside of it."""
        if not self.code.frame:
            return self.code
        inside = self._nested(self.facts["why"])
        assert inside is not None, "a frame frames an error"
        return inside.shown_code

    @property
    def may_pass(self) -> bool:
        """Whether this may pass, or one of several problems."""
        inside = self._nested(self.facts["why"]) if self.code.frame else None
        if inside is not None:
            return inside.may_pass
        problems = self.facts.get("problems")
        if isinstance(problems, (list, tuple)):
            nested = [self._nested(problem) for problem in problems]
            return any(each is not None and each.may_pass for each in nested)
        return self.code.end in _MENDED

    @property
    def what(self) -> str:
        """Where, and what."""
        return self._filled(self.code.what)

    @property
    def fix(self) -> str:
        """What to do; empty if there is nothing to do."""
        if self.words is Words.URL and self.code.url_fix is not None:
            return self._filled(self.code.url_fix)
        if self.words is Words.FENCE and self.code.fence_fix is not None:
            return self._filled(self.code.fence_fix)
        return self._filled(self.code.fix)

    @property
    def text(self) -> str:
        """The whole text, without the code."""
        return f"{self.what}; {self.fix}" if self.fix else self.what

    def __str__(self) -> str:
        """Return the text with its code before it."""
        return f"[{self.shown_code}] {self.text}"

    def _filled(self, template: str) -> str:
        parts = []
        first = ""
        for literal, name, form, conversion in _FORMATTER.parse(template):
            parts.append(literal)
            if name is None:
                continue
            if "." in name:
                shown = setting(name, self.words)
                parts.append(second(shown, first, literal))
                first = shown
            else:
                first = ""
                parts.append(self._shown(self.facts[name], form or "", conversion))
        return "".join(parts)

    def _shown(self, fact: object, form: str, conversion: str | None) -> str:
        if isinstance(fact, (tuple, list, set, frozenset)):
            members = sorted(fact, key=str) if isinstance(fact, (set, frozenset)) else fact
            if form == "lines":
                return "".join(
                    f"\n  {self._nested(member) or visible(without_secrets(str(member)))}"
                    for member in members
                )
            return ", ".join(self._shown(member, form, conversion) for member in members)
        nested = self._nested(fact)
        if nested is not None:
            return nested.what if form == "what" else nested.text
        if form == "lines":
            return visible_lines(without_secrets(str(fact)))
        form = "" if form == "what" else form
        return visible(without_secrets(format(repr(fact) if conversion == "r" else fact, form)))

    def _nested(self, fact: object) -> "Message | None":
        """Return the message of a fact that is an error or a message, in the same words."""
        message = fact if isinstance(fact, Message) else getattr(fact, "message", None)
        return message.in_words(self.words) if isinstance(message, Message) else None

    def in_words(self, words: Words) -> "Message":
        """Return the same in other words."""
        return Message(self.code, self.facts, words)


# By byte, in UTF-8: C0 but tab and line feed, delete, and C1; marks that turn the direction of
# writing, and separators of lines.
_CONTROLS: Final = re.compile(
    rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]"
    rb"|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)
_LATIN: Final = 0xFF
_OF_THE_CATALOGUE: Final = ("event", "error")


def visible(text: str) -> str:
    """Return a text in one line, without what steers a terminal or turns the writing direction."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}"
        for character in text.replace("\n", " ")
    )


def visible_lines(text: str) -> str:
    """Return the same of a text that has lines."""
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))


def visible_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a line for people; the texts of the catalogue may have lines."""
    return {
        name: visible_lines(value)
        if name in _OF_THE_CATALOGUE and isinstance(value, str)
        else _visible_value(value)
        for name, value in fields.items()
    }


def _visible_value(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_visible_value(name): _visible_value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_visible_value(each) for each in value]
    return value


def visible_json(
    value: Any, default: Callable[[Any], Any] | None = None, indent: int | None = None
) -> str:
    """Return a value as JSON, in ASCII if one of its characters is not visible.

    `default` and `indent` are those of `json.dumps`.
    """
    text = json.dumps(value, ensure_ascii=False, default=default, indent=indent)
    if text.replace("\n", "").isprintable():
        return text
    return json.dumps(value, default=default, indent=indent)


def visible_bytes(data: bytes) -> bytes:
    r"""Return text in UTF-8 in which control characters are `\x1b`, and marks `\u202e`."""
    return _CONTROLS.sub(_escaped, data)


def _escaped(found: re.Match[bytes]) -> bytes:
    character = ord(found[0].decode())
    return (f"\\x{character:02x}" if character <= _LATIN else f"\\u{character:04x}").encode()


# The least similarity, as difflib counts it: `snapoot` is as near to `snapshot` as 0.8.
_NEAR = 0.75


def nearest(word: str, known: Iterable[str], near: float = _NEAR) -> str | None:
    """Return the known word most like `word`; None if the similarity (0 to 1) is below `near`."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for a wrong word

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=near)), None)
