"""What a reference file such as configs/connector.toml says of each key, in its comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# `# key = value`: a key that is not set; with more spaces it is a part of the text.
_KEY = re.compile(r"(?:# )?([a-z0-9_]+) = (.*)")
_SECTION = re.compile(r"(?:# )?\[{1,2}([a-z_.]+)\]{1,2}")
_OPEN, _CLOSED = ("[", "{"), ("# ]", "]")
# The types say both.
_SAID_BY_TYPES = re.compile(r"\bDefault: (?:\"[^\"]*\"|[^\"\s]\S*)[.;]\s*|\bRequired\.\s*")


def meanings(path: Path) -> dict[str, list[str]]:
    """Return the lines of the comment before each key and section, by `section.key`.

    Keys that follow each other share the comment before the first one. A comment that an empty
    line ends is the one of the section that it begins, or of nothing.
    """
    found: dict[str, list[str]] = {}
    section, comment, last = "", list[str](), list[str]()
    in_value = False
    for line in path.read_text("utf-8").splitlines():
        if in_value:
            in_value = line not in _CLOSED
        elif named := _SECTION.fullmatch(line):
            section = named[1]
            found[section] = comment
            comment, last = [], []
        elif key := _KEY.fullmatch(line):
            last = comment or last
            # An example may stand before the key.
            found.setdefault(f"{section}.{key[1]}".lstrip("."), last)
            comment = []
            in_value = key[2].endswith(_OPEN)
        elif line.startswith("#"):
            comment.append(line[2:])
        else:
            if comment and section in found and not found[section]:
                found[section] = comment
            comment, last = [], []
    return found


def without_defaults(text: str) -> str:
    """Return the text of a comment without what the types of the settings say."""
    return _SAID_BY_TYPES.sub("", text).strip()
