"""The collations that a server has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pymysql.cursors import Cursor


def collations(cursor: Cursor) -> list[tuple[str, str]]:
    """Return the character set and the name of each collation of text, by name."""
    applicability = "information_schema.collation_character_set_applicability"
    cursor.execute(f"SHOW COLUMNS FROM {applicability} LIKE 'full_collation_name'")
    name = "full_collation_name" if cursor.fetchall() else "collation_name"
    cursor.execute(f"SELECT character_set_name, {name} FROM {applicability} ORDER BY {name}")
    found = [(charset, name) for charset, name in cursor.fetchall() if charset]
    return [(charset, name) for charset, name in found if charset != "binary"]
