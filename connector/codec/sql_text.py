"""Names and strings as SQL has them."""

from __future__ import annotations


def quoted_identifier(name: str) -> str:
    """Return a name in backticks."""
    return f"`{name.replace('`', '``')}`"


def quoted_name(database: str, table: str) -> str:
    """Return the name of a table with that of its database."""
    return f"{quoted_identifier(database)}.{quoted_identifier(table)}"


def sql_text(value: str) -> str:
    """Return a string that means the same in every character set of the session."""
    return f"_utf8mb4 X'{value.encode().hex()}'"
