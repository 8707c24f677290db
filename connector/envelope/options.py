"""What the records of one pipeline have in common."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """What the records of one pipeline have in common."""

    prefix: str
    connector: str  # "mysql" or "mariadb"
    version: str
    tombstones: bool = True
