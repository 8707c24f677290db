"""Sets of GTIDs of either product, where the code does not care which one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.gtid.mariadb import MariadbGtidSet
from connector.gtid.mysql import GtidSet

if TYPE_CHECKING:
    EitherGtidSet = GtidSet | MariadbGtidSet


def parse_gtid_set(text: str, flavour: str) -> EitherGtidSet:
    """Read a set as the server of `flavour` prints it; raises DecodeError for anything else."""
    return MariadbGtidSet.parse(text) if flavour == "mariadb" else GtidSet.parse(text)


def has_all(known: EitherGtidSet | None, wanted: EitherGtidSet | None) -> bool:
    """Return whether `known` has every transaction of `wanted`.

    False without one of them, and for sets of two products, which have no common names.
    """
    if isinstance(known, GtidSet) and isinstance(wanted, GtidSet):
        return wanted <= known
    if isinstance(known, MariadbGtidSet) and isinstance(wanted, MariadbGtidSet):
        return wanted <= known
    return False
