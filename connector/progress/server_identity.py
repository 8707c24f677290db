"""Who a server says it is: to which server a position belongs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """Who the server says it is."""

    flavour: Literal["mysql", "mariadb"]
    version: str  # as the server spells it
    version_number: tuple[int, int, int]
    server_uuid: str  # `source/server/identity.py` says how it is made
    server_id: int
    gtid: bool  # every transaction has a GTID
