"""Names and strings in the form of SQL."""

from __future__ import annotations

from itertools import pairwise


def quoted_identifier(name: str) -> str:
    """Return a name in backticks."""
    return f"`{name.replace('`', '``')}`"


def ansi_identifier(name: str) -> str:
    """Return a name in quotes that a client of any character set finds, under ANSI_QUOTES.

    In gbk, big5, cp932, sjis and gb18030, a backtick may be the second byte of a character. A
    double quote never is, but clients take a backslash before it for an escape. Raises ValueError
    for the few names that neither of the two can quote.
    """
    if name.isascii():
        return quoted_identifier(name)
    if "\\" not in name:
        doubled = name.replace('"', '""')
        return f'"{doubled}"'
    if any(not before.isascii() for before, after in pairwise(f"{name}`") if after == "`"):
        raise ValueError(name)
    return quoted_identifier(name)


def quoted_name(database: str, table: str) -> str:
    """Return the quoted name of a table, with that of its database."""
    return f"{quoted_identifier(database)}.{quoted_identifier(table)}"


def sql_text(value: str) -> str:
    """Return a string literal with the same meaning in every character set of the session."""
    return f"_utf8mb4 X'{value.encode().hex()}'"
