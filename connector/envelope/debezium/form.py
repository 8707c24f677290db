"""The choices of the profile `debezium`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from connector.contract import DEBEZIUM


@dataclass(frozen=True, slots=True)
class DebeziumForm:
    """How values look in the profile `debezium`, by the names of its connectors' options."""

    decimals: Literal["precise", "string", "double"] = "precise"  # decimal.handling.mode

    @classmethod
    def of_profile(
        cls, profile: str, decimals: Literal["precise", "string", "double"]
    ) -> DebeziumForm | None:
        """Return the form of a profile; None for `exact`, which has no options."""
        return cls(decimals) if profile == DEBEZIUM else None
