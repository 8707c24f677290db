"""GTID sets of either product, where the code does not care which one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.gtid.mariadb import MariadbGtidSet
from connector.binlog.gtid.mysql import GtidSet

if TYPE_CHECKING:
    AnyGtidSet = GtidSet | MariadbGtidSet


def parse_gtid_set(text: str, flavour: str) -> AnyGtidSet:
    """Read a set as the server of `flavour` prints it; raises DecodeError for anything else."""
    return MariadbGtidSet.parse(text) if flavour == "mariadb" else GtidSet.parse(text)


def contains_all(known: AnyGtidSet | None, wanted: AnyGtidSet | None) -> bool:
    """Return whether `known` has every transaction of `wanted`.

    False without one of them, and for sets of two products, which have no common names.
    """
    if isinstance(known, GtidSet) and isinstance(wanted, GtidSet):
        return wanted <= known
    if isinstance(known, MariadbGtidSet) and isinstance(wanted, MariadbGtidSet):
        return wanted <= known
    return False
