"""A table, as far as the log depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.logging_rules.engines import Engine


class Generated(Enum):
    """Whether a column is computed, and where its values are."""

    NO = "no"
    VIRTUAL = "virtual"
    STORED = "stored"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column, in the order of the table."""

    name: str
    nullable: bool = True
    blob: bool = False  # BLOB and TEXT; JSON on MariaDB, where it is a TEXT
    json: bool = False  # the type of MySQL
    auto_increment: bool = False
    generated: Generated = Generated.NO
    based_on: frozenset[str] = frozenset()  # the columns that a generated one is computed from
    unsafe_default: bool = False  # a DEFAULT expression that differs from call to call
    null_by_default: bool = False


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """A primary or unique key, by the names of its columns."""

    name: str
    columns: tuple[str, ...]

    @property
    def primary(self) -> bool:
        """Whether it is the primary key."""
        return self.name == "PRIMARY"


@dataclass(frozen=True, slots=True)
class Table:
    """A table; keys are in the order of the server."""

    name: str
    engine: Engine
    columns: tuple[TableColumn, ...] = ()
    unique_keys: tuple[UniqueKey, ...] = ()
    temporary: bool = False
    # mysql.general_log, mysql.slow_log, performance_schema: their rows are never logged.
    log_table: bool = False
    # mysql.user and the other tables of accounts.
    acl_table: bool = False
    # No index begins with the AUTO_INCREMENT column, so that each value of the columns before it
    # counts for itself.
    auto_increment_not_first: bool = False

    @property
    def auto_increment(self) -> TableColumn | None:
        """The AUTO_INCREMENT column, if there is one."""
        return next((column for column in self.columns if column.auto_increment), None)
