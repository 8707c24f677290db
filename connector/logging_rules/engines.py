"""Storage engines by what the log needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from connector.logging_rules.server_version import ServerVersion


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
    # It can change a JSON document in its place.
    changes_documents: bool = False
    # A weak isolation level takes away the ability to log statements.
    needs_repeatable_read: bool = False


_INNODB: Final = Engine(
    "InnoDB",
    transactional=True,
    commits=True,
    changes_documents=True,
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
