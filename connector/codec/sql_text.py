"""Names and strings in the form of SQL."""

from __future__ import annotations


def quoted_identifier(name: str) -> str:
    """Return a name in backticks."""
    return f"`{name.replace('`', '``')}`"


def quoted_name(database: str, table: str) -> str:
    """Return the quoted name of a table, with that of its database."""
    return f"{quoted_identifier(database)}.{quoted_identifier(table)}"


def sql_text(value: str) -> str:
    """Return a string literal with the same meaning in every character set of the session."""
    return f"_utf8mb4 X'{value.encode().hex()}'"
