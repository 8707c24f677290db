"""Help texts as a page for `man`: Markdown becomes roff."""

from __future__ import annotations

import re

_OTHERS = re.compile(r"[^\x00-\x7f]")
_CODE = re.compile(r"`([^`]*)`")


def section(title: str) -> str:
    """Return the heading of a section."""
    return f".SH {escaped(title.upper())}"


def subsection(title: str) -> str:
    """Return a smaller heading."""
    return f".SS {escaped(title)}"


def bold(text: str) -> str:
    """Return words that are typed as they stand."""
    return f"\\fB{escaped(text)}\\fR"


def escaped(text: str) -> str:
    """Return text that roff prints as it is: also what begins with a dot, and hyphens."""
    found = text.replace("\\", "\\e").replace("-", "\\-")
    # Older versions of roff read Latin-1.
    found = _OTHERS.sub(lambda found: f"\\[u{ord(found[0]):04X}]", found)
    return f"\\&{found}" if found.startswith((".", "'")) else found


def paragraphs(markdown: str) -> list[str]:
    """Return the paragraphs of a help text."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", markdown.strip()):
        found += [".PP", inline(" ".join(block.split()))]
    return found


def definition(term: str, text: str) -> list[str]:
    """Return a term, which is roff, and what it means."""
    return [".TP", term, inline(" ".join(text.split()))]


def inline(text: str) -> str:
    """Return a paragraph, with what stands between backticks in bold."""
    parts = _CODE.split(text)
    parts[::2] = (escaped(part) for part in parts[::2])
    parts[1::2] = (bold(part) for part in parts[1::2])
    line = "".join(parts)
    # The beginning of a line is no request, whatever it is.
    return f"\\&{line}" if line.startswith((".", "'")) else line
