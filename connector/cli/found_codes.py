"""Which codes of the catalogue some words mean: those of our texts, and those of a server."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from connector.errors.catalogue import codes
from connector.errors.message import Message
from connector.source.server.server_errors import codes_of_words

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode

# Shorter words say little.
_WORD = re.compile(r"\w{3,}")
# With fewer of the words, a text is about something else.
_PART_MIN = 0.5
_RESULTS_MAX = 10


def codes_with(text: str) -> list[ErrorCode]:
    """Return the codes that `text` is about, the likeliest first; it may be a line of a log.

    A code in it counts alone. Then come the numbers and the words of database servers, and then
    the words of our own texts, causes and fixes: all of the words, else the rarest ones.
    """
    known = codes()
    if named := [word for word in re.findall(r"\[([A-Z]\d{3})\]", text) if word in known]:
        return [known[number] for number in dict.fromkeys(named)]
    wanted = set(_WORD.findall(text.lower()))
    has = {
        number: {word for word in wanted if word in said}
        for number, said in ((number, _text(code)) for number, code in known.items())
    }
    count = Counter(word for words in has.values() for word in words)
    complete = [number for number, words in has.items() if wanted and words == wanted]
    least = max(1, len(wanted) * _PART_MIN)
    similar = [number for number, words in has.items() if len(words) >= least]
    similar.sort(key=lambda number: -sum(1 / count[word] for word in has[number]))
    of_servers = [code.code for code in codes_of_words(text)]
    found = dict.fromkeys([*of_servers, *(complete or similar)])
    return [known[number] for number in found][:_RESULTS_MAX]


def _text(code: ErrorCode) -> str:
    parts = (str(Message(code, code.example)), code.what, code.fix, code.url_fix or "", code.cause)
    return "\n".join(parts).lower()
