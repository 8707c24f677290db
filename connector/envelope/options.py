"""The facts that all records of one pipeline share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """The facts that all records of one pipeline share."""

    prefix: str
    connector: str  # "mysql" or "mariadb"
    version: str
    tombstones: bool = True
