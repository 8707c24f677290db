"""The server and session whose rules are asked for: storage engines, session settings."""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final

from connector.foundation.server_version import ServerVersion


class BinlogFormat(Enum):
    """The values of `binlog_format`."""

    STATEMENT = "STATEMENT"
    MIXED = "MIXED"
    ROW = "ROW"


class Isolation(IntEnum):
    """The isolation levels, the weakest first."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
    REPEATABLE_READ = 2
    SERIALIZABLE = 3


@dataclass(frozen=True, slots=True)
class SessionState:
    """The session at the start of a statement."""

    binlog_format: BinlogFormat = BinlogFormat.ROW
    isolation: Isolation = Isolation.REPEATABLE_READ
    in_transaction: bool = False
    in_xa: bool = False
    # The transaction cache is not empty.
    logged_in_transaction: bool = False
    direct_non_transactional_updates: bool = False
    enforce_gtid_consistency: bool = False
    # MIXED went over to row format for an earlier statement, and has not gone back: it does not
    # until the end of a CALL, nor, before MySQL 8.0.4 and on MariaDB, while temporary tables exist.
    row_format_stays: bool = False


@dataclass(frozen=True, slots=True)
class Engine:
    """What an engine can log, and whether ROLLBACK undoes its changes.

    A table is a T-table if its engine is transactional, and an N-table if not (D-T-table,
    D-N-table).
    """

    name: str
    transactional: bool = False
    row_capable: bool = True
    statement_capable: bool = True
    self_logging: bool = False
    # The engine takes part in the commit, so the group ends with an XID event.
    commits: bool = False
    # A weak isolation level takes away the ability to log statements.
    needs_repeatable_read: bool = False


_INNODB: Final = Engine(
    "InnoDB",
    transactional=True,
    commits=True,
    needs_repeatable_read=True,
)
# Nothing is stored, but the engine does not say that it lacks transactions.
_BLACKHOLE: Final = Engine("BLACKHOLE", transactional=True)

ENGINES: Final = {
    engine.name.upper(): engine
    for engine in (
        _INNODB,
        _BLACKHOLE,
        Engine("MyISAM"),
        Engine("MEMORY"),
        Engine("CSV"),
        Engine("ARCHIVE"),
        Engine("MRG_MyISAM"),
        Engine("FEDERATED"),
        Engine("Aria"),
        # For tests of the servers.
        Engine("EXAMPLE", row_capable=False),
        Engine("ndbcluster", transactional=True, statement_capable=False, self_logging=True),
        Engine("ROCKSDB", transactional=True, statement_capable=False, commits=True),
    )
}
# On MariaDB, BLACKHOLE is a plugin, and an N-table.
_MARIADB: Final = {"BLACKHOLE": Engine("BLACKHOLE")}


def engine_of(name: str, server: ServerVersion) -> Engine | None:
    """Return the engine of that name, or None for one whose abilities are not known."""
    upper = name.upper()
    if server.is_mariadb and upper in _MARIADB:
        return _MARIADB[upper]
    return ENGINES.get(upper)
