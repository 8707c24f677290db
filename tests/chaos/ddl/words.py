"""Names, types and values: the words of the grammar."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

# The names of tools for online schema changes are given by hand, and by their rules.
NAMES: Final = ("t", "u", "w", "tä", "_t_gho", "_t_ghc", "_t_del", "_t_new", "_t_old")
COLUMNS: Final = ("a", "b", "c", "d", "é")
# Types with values that fit; no zero date, which no type of Spark holds.
TYPES: Final = {
    "TINYINT": ("-3", "7"),
    "SMALLINT UNSIGNED": ("0", "65535"),
    "INT": ("-3", "2147483647"),
    "BIGINT UNSIGNED": ("7", "18446744073709551615"),
    "DECIMAL(6,2)": ("-1.50", "1234.56"),
    "DECIMAL(9,3)": ("-1.505", "12.5"),
    "FLOAT": ("1.25", "-0.5"),
    "DOUBLE": ("1.25", "1e10"),
    "BIT(4)": ("b'101'", "b'1'"),
    "YEAR": ("1999", "2026"),
    "DATE": ("'2020-02-29'",),
    "DATETIME(3)": ("'2020-02-29 01:02:03.456'",),
    "TIME(2)": ("'-12:34:56.78'", "'23:59:59.99'"),
    "TIMESTAMP(6) NULL": ("'2021-01-01 00:00:00.123456'",),
    "VARCHAR(9)": ("'ab'", "'a '", "''", "'it''s'", "'7'"),
    "VARCHAR(30) CHARACTER SET latin1": ("'ab'", "'12'"),
    "CHAR(5)": ("'ab'", "''"),
    "TEXT": ("'some text'",),
    "VARBINARY(8)": ("X'010203'", "'ab'"),
    "BINARY(4)": ("X'01'",),
    "BLOB": ("X'FF00'",),
    "ENUM('x','y')": ("'x'", "'y'"),
    "ENUM('y','x','z')": ("'x'", "'z'"),
    "SET('p','q')": ("'p'", "'p,q'", "''"),
    "JSON": ("'[1, 2]'",),
}
_LABEL: Final = re.compile(r"'[^']*'")
_BY_WORD: Final = {
    "bit": ("b'1'",),
    "binary": ("X'01'",),
    "blob": ("X'FF00'", "X''"),
    "char": ("'ab'", "'x'", "''"),
    "date": ("'2020-02-29'", "'1999-12-31'"),
    "decimal": ("1.5", "-2"),
    "double": ("1.25", "-3"),
    "float": ("1.25", "-3"),
    "int": ("7", "100"),
    "json": ("'[1, 2]'", "'{}'"),
    "text": ("'some text'", "'[]'"),
    "time": ("'12:34:56'",),
    "year": ("1999", "2026"),
}
# The first of these that a type contains decides: `longblob` is a blob, `datetime` is a date.
_WORDS: Final = (
    "blob", "text", "binary", "char", "date", "timestamp", "time", "year", "bit", "decimal",
    "double", "float", "json", "int",
)  # fmt: skip


def value_of(random: Random, kind: str) -> str:
    """Return a value for a column of a type of `information_schema`, as SQL; NULL at times."""
    if random.random() < 0.1:
        return "NULL"
    if kind.startswith(("enum", "set")):
        labels: list[str] = _LABEL.findall(kind)
        return random.choice(labels)
    word = next((word for word in _WORDS if word in kind), "int")
    return random.choice(_BY_WORD["date" if word == "timestamp" else word])
