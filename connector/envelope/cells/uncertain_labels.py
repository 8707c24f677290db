"""Labels of ENUM and SET that a server does not show for certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.contract import SchemaColumn


def has_uncertain_labels(column: SchemaColumn) -> bool:
    """Return whether two labels may look the same: servers show some characters as `?`.

    The cells of such an ENUM or SET are labels, as UTF-8, instead of numbers.
    """
    return any("?" in label for label in column.get("labels", ()))
