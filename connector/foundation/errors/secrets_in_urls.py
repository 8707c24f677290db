"""URLs in texts for people: without passwords, and without options that give access.

A user may write a password into a URL that must not have one, and a server or a library may repeat
a URL that gives access, such as a signed one of a storage. Errors, log lines and answers to wrong
arguments show texts by `without_secrets`. The texts of others may be long: each step takes time in
proportion to them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

# Paths have one slash where URLs have two. All of the rest is looked at: a password that is not
# encoded can have any character.
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{1,20}):(/+)(\S*)")
# In the form of a URL, for people.
_FORM: Final = "PASSWORD"
_AUTHORITY_ENDS: Final = re.compile(r"[/?#]")
_OPTION: Final = re.compile(r"([?&;])([^=&;?#\s]+)=[^&;\s]*")
_SECRET: Final = re.compile(
    r"password|passwd|passphrase|pwd|secret|token|credential|signature|(?:access|account|api)[-_]?key"
    r"|^sig$|^key$",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """Return a text whose URLs have no password, and only the names of options that may be secret.

    `mysql://cdc:x@db/shop` becomes `mysql://cdc@db/shop`.
    """
    return _URL.sub(_shown_url, text) if ":/" in text else text


def value_without_secrets(value: Any) -> Any:
    """Return the same of a value that may have texts in lists and objects."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {name: value_without_secrets(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [value_without_secrets(each) for each in value]
    return value


def _shown_url(found: re.Match[str]) -> str:
    scheme, slashes, rest = found.groups()
    account, at, place = rest.rpartition("@")
    user, colon, password = account.partition(":")
    if at and colon and password != _FORM and not _AUTHORITY_ENDS.search(user):
        rest = f"{user}@{place}"
    return f"{scheme}:{slashes}{_OPTION.sub(_shown_option, rest)}"


def _shown_option(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}" if _SECRET.search(found[2]) else found[0]
