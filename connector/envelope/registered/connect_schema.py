"""A schema of Kafka Connect, as its JsonConverter writes it."""

from __future__ import annotations

from typing import Any, TypeAlias

# Members in the order of the converter.
ConnectSchema: TypeAlias = "dict[str, Any]"


def field(name: str, kind: str, *, optional: bool, **others: object) -> ConnectSchema:
    """Return a field of a struct."""
    return {"type": kind, "optional": optional, **others, "field": name}
