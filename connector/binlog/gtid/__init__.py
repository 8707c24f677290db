"""Global transaction ids: the names of transactions, and sets of them to resume from.

MySQL and MariaDB share only the word. MySQL names a transaction by the server that first committed
it and a running number; a set names exactly its members. MariaDB names it by replication domain,
server and a number that rises within the domain; a position is the last GTID of each domain. The
functions here take sets of either product.
"""

from connector.binlog.gtid.mariadb import MariadbGtid, MariadbGtidSet
from connector.binlog.gtid.mysql import GtidSet
from connector.binlog.gtid.mysql_gtid import Gtid, gtid_at, gtid_prefix_at

AnyGtidSet = GtidSet | MariadbGtidSet

__all__ = [
    "Gtid",
    "GtidSet",
    "MariadbGtid",
    "MariadbGtidSet",
    "contains_all",
    "gtid_at",
    "gtid_prefix_at",
    "has_reached",
    "lacks_some",
    "parse_gtid_set",
]


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


def has_reached(known: AnyGtidSet | None, end: AnyGtidSet | None) -> bool:
    """Return whether GTIDs prove that `known` has everything of a log whose last GTIDs are `end`.

    Without gtid_strict_mode, servers of MariaDB write a domain without regard to the numbers of
    each other: 0-2-991 may come after 0-1-1001. So only numbers of one server are compared. If
    this is False for MariaDB, positions on one server still decide.
    """
    if not (isinstance(known, MariadbGtidSet) and isinstance(end, MariadbGtidSet)):
        return contains_all(known, end)
    return all(_is_after(known.last_of(gtid.domain_id), gtid) for gtid in end)


def lacks_some(known: AnyGtidSet | None, wanted: AnyGtidSet | None) -> bool:
    """Return whether GTIDs prove that `known` lacks a part of `wanted`.

    As in `has_reached`, only numbers of one server of MariaDB are compared: both can be False.
    """
    if not (isinstance(known, MariadbGtidSet) and isinstance(wanted, MariadbGtidSet)):
        return not contains_all(known, wanted)
    return any(_is_before(known.last_of(gtid.domain_id), gtid) for gtid in wanted)


def _is_after(last: MariadbGtid | None, gtid: MariadbGtid) -> bool:
    """Return whether the last GTID of a domain is `gtid`, or a later one of the same server."""
    return last is not None and last.server_id == gtid.server_id and gtid.sequence <= last.sequence


def _is_before(last: MariadbGtid | None, gtid: MariadbGtid) -> bool:
    """Return whether `gtid` comes after the last one of its domain, if one server wrote both."""
    return last is None or (last.server_id == gtid.server_id and last.sequence < gtid.sequence)
