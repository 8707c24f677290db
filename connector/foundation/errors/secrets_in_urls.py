"""URLs in texts for people: without passwords, and without options that give access.

A user may write a password into a URL that must not have one, and a server or a library may repeat
a URL that gives access, such as a signed one of a storage. Errors, log lines and answers to wrong
arguments show texts by `without_secrets`. In a text, a URL ends at white space, even if a password
goes on after it; where a text is known to be one URL, `url_without_secrets` has no such end.

A password that is not encoded can have any character, so all up to the last `@` is looked at. Only
what begins another URL, closes a quotation, or follows a port ends a URL before that; a password
that imitates one of these in full is shown from there on. The texts of others may be long: each
step takes time in proportion to them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

# Paths have one slash where URLs have two; some writers of JSON escape slashes.
_NAME: Final = r"[\w+.-]{2,}"
_SLASH: Final = r"(?:\\?/)"
_START: Final = re.compile(
    rf"(?P<quote>[\"'`])?(?<![\w+.-])(?:[\w+.-]+:){{0,2}}?(?P<scheme>{_NAME}):{_SLASH}+"
)
# Another URL in the same word.
_NEXT: Final = rf"[\s,;|=&?(<\"'`](?:[\w+.-]+:){{0,2}}?{_NAME}:{_SLASH}{{2}}"
_USER: Final = re.compile(rf"(?:(?!{_NEXT})[^:/?#])*:")
_HOST: Final = re.compile(r"(?:[^:/?#\[]*@)?(?:\[[\w:.%]+\]|[^:/?#]*):[0-9]{1,5}(?![0-9])")
# Their clients read digits before a slash as a port, and their paths may have `@`.
_HAVE_PATHS: Final = ("http", "https", "hdfs")
_AFTER_PORT: Final = (*"/?#,;)\"'`", r"\/", r"\"")
# In the form of a URL, for people.
_FORM: Final = "PASSWORD"
_SECRET: Final = re.compile(
    r"password|passwd|passphrase|pwd|secret|token|credential|signature|(?:access|account|api)[-_]?key"
    r"|jwt|^auth$|^sas$|^sig$|^key$",
    re.IGNORECASE,
)


def _end(quote: str) -> str:
    """Return the pattern of the quote that ends a URL which begins after `quote`, if it does.

    A later `@` is of another quoted text, or the quote is of a password.
    """
    return rf"\\*{quote}(?![^\s,;:)}}\]\\])(?![^@{quote}]*@)" if quote else "(?!)"


def _option(quote: str) -> re.Pattern[str]:
    """Return the pattern of an option; what follows it without a name belongs to its value."""
    value = rf"(?:(?!{_end(quote)})[^&;])"
    return re.compile(rf"([?&;#])([^=&;?#]+)={value}*(?:[&;](?![^=&;]+=){value}+)*")


_QUOTES: Final = ("", '"', "'", "`")
_ENDS: Final = {quote: re.compile(f"{_end(quote)}|{_NEXT}") for quote in _QUOTES}
_OPTIONS: Final = {quote: _option(quote) for quote in _QUOTES}


def without_secrets(text: str) -> str:
    """Return a text whose URLs have no password, and only the names of options that may be secret.

    `mysql://cdc:x@db/shop` becomes `mysql://cdc@db/shop`.
    """
    if not _may_have_url(text):
        return text
    return re.sub(r"\S+", lambda word: url_without_secrets(word[0]), text)


def url_without_secrets(text: str) -> str:
    """Return the same of a text whose URL has all that follows, white space too."""
    found = _START.search(text) if _may_have_url(text) else None
    if found is None:
        return text
    shown = _without_passwords(text)
    # Passwords come after the beginning.
    options = _OPTIONS[found["quote"] or ""]
    return shown[: found.end()] + options.sub(_shown_option, shown[found.end() :])


def value_without_secrets(value: Any) -> Any:
    """Return the same of a value that may have texts in lists and objects.

    All but numbers become what lines show of them, their texts.
    """
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {name: value_without_secrets(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [value_without_secrets(each) for each in value]
    return without_secrets(str(value))


def _may_have_url(text: str) -> bool:
    return ":/" in text or ":\\/" in text


def _without_passwords(text: str) -> str:
    parts = []
    shown = passed = 0
    for start in _START.finditer(text):
        if start.start() < passed:
            continue
        user = _USER.match(text, start.end())
        first = text.find("@", start.end() if user is None else user.end())
        if first < 0:
            break
        if user is None:
            continue
        ends = _ENDS[start["quote"] or ""]
        if (place := _place_end(text, start, first, ends)) is not None:
            passed = place
            continue
        end = ends.search(text, first)
        passed = text.rfind("@", first, len(text) if end is None else end.start() + 1)
        if text[user.end() : passed] != _FORM:
            parts.append(text[shown : user.end() - 1])
            shown = passed
    return "".join([*parts, text[shown:]])


def _place_end(text: str, start: re.Match[str], first: int, ends: re.Pattern[str]) -> int | None:
    """Return where it is known that a URL has a port, not a password; `first` is the next `@`."""
    host = _HOST.match(text, start.end())
    if host is None:
        return None
    has_path = start["scheme"].lower().endswith(_HAVE_PATHS)
    if has_path and text.startswith(_AFTER_PORT, host.end()) and not _HOST.match(text, first + 1):
        return host.end()
    end = ends.search(text, host.end())
    return end.start() if end is not None and end.start() < first else None


def _shown_option(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}" if _SECRET.search(found[2]) else found[0]
