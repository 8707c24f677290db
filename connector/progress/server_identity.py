"""The identity of a server: it decides to which server a position belongs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """The identity that the server reports."""

    flavour: Literal["mysql", "mariadb"]
    version: str  # as the server spells it
    version_number: tuple[int, int, int]
    server_uuid: str  # `source/server/identity.py` says how it is made
    server_id: int
    gtid: bool  # whether every transaction has a GTID
