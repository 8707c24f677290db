"""The text of a user's condition, for modules that see one rarely.

What parses it takes 50 ms and 9 MB to import, so it is imported when there is a condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def require_condition(text: str) -> None:
    """Raise ConfigError for a text that is no condition for any table."""
    from connector.snapshot.condition import Condition  # noqa: PLC0415  # takes long to import

    Condition.parse(text)


def condition_sql(
    text: str, database: str, table: str, columns: Sequence[str], hidden: Sequence[str]
) -> str:
    """Return the SQL to put after WHERE for a condition on a table that has `columns`.

    Raises ConfigError for a text that is no condition for this table, or reads `hidden` columns.
    """
    from connector.snapshot.condition import Condition  # noqa: PLC0415  # takes long to import

    return Condition.parse(text).sql(database, table, columns, hidden)
