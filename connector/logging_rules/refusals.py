"""The errors by which a server refuses a statement that it could not log.

The numbers are the same on MySQL since 5.5 and on MariaDB; MariaDB has none for consistency of
GTIDs.
"""

from __future__ import annotations

from enum import Enum


class Refusal(Enum):
    """An error, by its number; its name is that of the servers."""

    ER_BINLOG_ROW_ENGINE_AND_STMT_ENGINE = 1661
    ER_BINLOG_ROW_MODE_AND_STMT_ENGINE = 1662
    ER_BINLOG_UNSAFE_AND_STMT_ENGINE = 1663
    ER_BINLOG_ROW_INJECTION_AND_STMT_ENGINE = 1664
    ER_BINLOG_STMT_MODE_AND_ROW_ENGINE = 1665
    ER_BINLOG_ROW_INJECTION_AND_STMT_MODE = 1666
    ER_BINLOG_MULTIPLE_ENGINES_AND_SELF_LOGGING_ENGINE = 1667
    ER_GTID_UNSAFE_NON_TRANSACTIONAL_TABLE = 1785
    ER_GTID_UNSAFE_CREATE_SELECT = 1786
    # Until MySQL 8.0.12; then the one after it.
    ER_GTID_UNSAFE_CREATE_DROP_TEMPORARY_TABLE_IN_TRANSACTION = 1787
    ER_CLIENT_GTID_UNSAFE_CREATE_DROP_TEMP_TABLE_IN_TRX_IN_SBR = 3748

    @property
    def number(self) -> int:
        """The number that clients get."""
        return self.value


GTID_REFUSALS = frozenset(
    {
        Refusal.ER_GTID_UNSAFE_NON_TRANSACTIONAL_TABLE,
        Refusal.ER_GTID_UNSAFE_CREATE_SELECT,
        Refusal.ER_GTID_UNSAFE_CREATE_DROP_TEMPORARY_TABLE_IN_TRANSACTION,
        Refusal.ER_CLIENT_GTID_UNSAFE_CREATE_DROP_TEMP_TABLE_IN_TRX_IN_SBR,
    }
)
