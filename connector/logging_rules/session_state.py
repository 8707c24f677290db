"""What the decision for a statement needs to know of its session."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


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
