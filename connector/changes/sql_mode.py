"""The bits of sql_mode that decide what a statement does to rows.

A QUERY event has the mode in which the statement ran. MySQL and MariaDB use the same bits; 32 is
EMPTY_STRING_IS_NULL on MariaDB, and on MySQL TIME_TRUNCATE_FRACTIONAL.

https://github.com/MariaDB/server/blob/11.8/sql/sql_class.h
https://github.com/mysql/mysql-server/blob/8.0/sql/system_variables.h
"""

from __future__ import annotations

from typing import Final

NO_AUTO_VALUE_ON_ZERO: Final = 1 << 19
NO_BACKSLASH_ESCAPES: Final = 1 << 20
STRICT_TRANS_TABLES: Final = 1 << 21
STRICT_ALL_TABLES: Final = 1 << 22
NO_ZERO_IN_DATE: Final = 1 << 23
NO_ZERO_DATE: Final = 1 << 24
EMPTY_STRING_IS_NULL: Final = 1 << 32

# The modes of other databases: DATE is DATETIME in ORACLE, and TIMESTAMP is DATETIME in MAXDB.
_OTHER_TYPES: Final = 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12

# The worst case, for a log that does not say the mode.
UNKNOWN_MODE: Final = NO_BACKSLASH_ESCAPES | NO_ZERO_IN_DATE | NO_ZERO_DATE | EMPTY_STRING_IS_NULL


def is_strict(mode: int) -> bool:
    """Return whether a value that does not fit its column is an error."""
    return mode & (STRICT_TRANS_TABLES | STRICT_ALL_TABLES) != 0


def zeroes_dates(mode: int) -> bool:
    """Return whether a rebuild of a table can turn its partial dates into zeros."""
    return not is_strict(mode) and mode & (NO_ZERO_IN_DATE | NO_ZERO_DATE) != 0


def has_other_types(mode: int) -> bool:
    """Return whether a name of a type can stand for another type, as in other databases."""
    return mode & _OTHER_TYPES != 0
