"""A code and its facts become text, for users of a configuration, of a URL or of a fence.

No other module composes texts of errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from string import Formatter

from connector.foundation.errors.code import End, ErrorCode
from connector.foundation.errors.visible import visible, visible_lines


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
                    f"\n  {self._nested(member) or visible(str(member))}" for member in members
                )
            return ", ".join(self._shown(member, form, conversion) for member in members)
        nested = self._nested(fact)
        if nested is not None:
            return nested.what if form == "what" else nested.text
        if form == "lines":
            return visible_lines(str(fact))
        form = "" if form == "what" else form
        return visible(format(repr(fact) if conversion == "r" else fact, form))

    def _nested(self, fact: object) -> Message | None:
        """Return the message of a fact that is an error or a message, in the same words."""
        message = fact if isinstance(fact, Message) else getattr(fact, "message", None)
        return message.in_words(self.words) if isinstance(message, Message) else None

    def in_words(self, words: Words) -> Message:
        """Return the same in other words."""
        return Message(self.code, self.facts, words)
