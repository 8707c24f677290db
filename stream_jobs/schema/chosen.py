"""What the settings choose for one table, once its columns are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.errors.message import Message


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choices for a table with one column list; the defaults change nothing."""

    # Whether the table has no mirror by choice.
    is_skipped: bool = False
    # The database and the name of the mirror; None: those of the table.
    place: tuple[str, str] | None = None
    # By the name of each column that is excluded, hashed or masked, in which way.
    hidden: Mapping[str, str] = field(default_factory=dict)
    # All columns at the source.
    source: tuple[str, ...] = ()
    # Columns that may be hidden ones under another name, and the name of those.
    suspects: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    # Why the table cannot have a mirror with these settings.
    problem: Message | None = None
