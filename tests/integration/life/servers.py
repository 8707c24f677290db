"""The servers on which the story of a pipeline's life is played."""

from __future__ import annotations

from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from local_stack import MysqlServer
from tests.integration.replication_pair import mariadb_pair, mysql_pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from local_stack import MariadbServer
    from tests.integration.replication_pair import ReplicationPair


class Kind(NamedTuple):
    """A product, a version, and the settings that differ from those of other sources."""

    product: str
    version: str
    settings: Mapping[str, str] = MappingProxyType({})

    @property
    def name(self) -> str:
        """What tests and pages call it."""
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.product} {self.version}" + (f" with {settings}" if settings else "")

    @property
    def is_mariadb(self) -> bool:
        """Whether it has MariaDB's statements."""
        return self.product == "MariaDB"

    @property
    def folds_names(self) -> bool:
        """Whether table names mean the same in any letter case."""
        return "lower_case_table_names" in self.settings

    @property
    def has_gtids(self) -> bool:
        """Whether another server can take over."""
        return "gtid_mode" not in self.settings


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("MySQL", "5.7"),
        Kind("MySQL", "8.0.15"),
        Kind("MySQL", "8.0"),
        Kind("MySQL", "8.0", {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}),
        Kind("MySQL", "9", {"lower_case_table_names": "1"}),
        Kind("MySQL", "9"),
        Kind("MariaDB", "10.5"),
        Kind("MariaDB", "10.5", {"log_bin_compress": "ON"}),
        Kind("MariaDB", "10.11"),
        Kind("MariaDB", "10.11", {"binlog_alter_two_phase": "ON"}),
        Kind("MariaDB", "11.8"),
        Kind("MariaDB", "11.8", {"binlog_gtid_index": "OFF"}),
        Kind(
            "MariaDB",
            "11.8",
            {
                "binlog_alter_two_phase": "ON",
                "log_bin_compress": "ON",
                "lower_case_table_names": "1",
            },
        ),
    )
}


@contextmanager
def servers_of(
    kind: Kind, folder: Path
) -> Iterator[tuple[MysqlServer | MariadbServer, ReplicationPair | None]]:
    """Run a source, and its replica if one can take over."""
    if not kind.has_gtids:
        with MysqlServer(folder / "mysql", version=kind.version, settings=kind.settings) as server:
            yield server, None
        return
    new = mariadb_pair if kind.is_mariadb else mysql_pair
    with new(folder, kind.version, kind.settings) as pair:
        yield pair.source, pair
