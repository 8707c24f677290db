"""Random tables, rows and ALTER TABLE statements; a server refuses some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.integration.schema.altered_tables import HEAD

if TYPE_CHECKING:
    from random import Random

NAMES: Final = ("a", "b", "c", "d", "e")
# Types, and values that fit some of them.
TYPES: Final = {
    "TINYINT": ("-3", "7", "127"),
    "SMALLINT UNSIGNED": ("0", "7", "65535"),
    "INT": ("-3", "7", "2147483647"),
    "INT UNSIGNED": ("0", "7", "4294967295"),
    "BIGINT": ("-3", "9223372036854775807"),
    "BIGINT UNSIGNED": ("7", "18446744073709551615"),
    "DECIMAL(6,2)": ("-1.50", "1234.56"),
    "DECIMAL(9,2)": ("-1.50", "1234567.89"),
    "DECIMAL(9,3)": ("-1.505", "123456.789"),
    "FLOAT": ("1.25", "-0.1"),
    "DOUBLE": ("1.25", "-0.1"),
    "BIT(4)": ("b'101'", "b'1'"),
    "BIT(1)": ("b'0'", "b'1'"),
    "YEAR": ("1999", "2026"),
    "DATE": ("'2020-02-29'", "'1999-12-31'", "'2020-00-01'", "'0000-00-00'"),
    "DATETIME": ("'2020-02-29 01:02:03'", "'1999-12-00 00:00:00'"),
    "DATETIME(3)": ("'2020-02-29 01:02:03.456'", "'1999-12-31 23:59:59.999'"),
    "TIME": ("'-12:34:56'", "'100:00:00'"),
    "TIME(2)": ("'-12:34:56.78'", "'23:59:59.99'"),
    "TIMESTAMP NULL": ("'2021-01-01 00:00:00'",),
    "VARCHAR(4)": ("'ab'", "'Жq'", "''", "'12'"),
    "VARCHAR(30)": ("'abcdefgh'", "'12'", "'a '"),
    "VARCHAR(9) CHARACTER SET latin1": ("'ab'", "'é'"),
    "CHAR(5)": ("'ab'", "'Ж'", "''"),
    "TEXT": ("'some text'", "'{}'"),
    "VARBINARY(4)": ("X'0102'", "'ab'"),
    "VARBINARY(8)": ("X'010203'", "'abcdef'"),
    "BINARY(4)": ("X'01'", "'ab'"),
    "BLOB": ("X'FF00'",),
    "ENUM('x','y')": ("'x'", "'y'"),
    "ENUM('x','y','z')": ("'x'", "'z'"),
    "ENUM('y','x')": ("'x'", "'y'"),
    "SET('p','q')": ("'p'", "'p,q'", "''"),
    "SET('p','q','r')": ("'r'", "'p,q'"),
    "JSON": ("'[1, 2]'",),
}
_MODES: Final = (
    "STRICT_ALL_TABLES",
    "STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO",
    "",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE,NO_BACKSLASH_ESCAPES",
)
_TABLE_CLAUSES: Final = (
    "FORCE",
    "ALGORITHM = COPY, FORCE",
    "COMMENT = 'x', ROW_FORMAT = DYNAMIC",
    "ENGINE = InnoDB",
    "ORDER BY id DESC",
    "CHARACTER SET latin1",
    "CHARACTER SET binary",
    "CONVERT TO CHARACTER SET utf8mb4",
    "PARTITION BY HASH (id) PARTITIONS 2",
    "REMOVE PARTITIONING",
    "ADD CHECK (id > 0)",
)


class RandomAlters:
    """What `random` chooses."""

    def __init__(self, random: Random) -> None:
        self._random = random
        # The type of each column, if no ALTER TABLE had an error.
        self._columns: dict[str, str] = {}
        self._rows = 0

    def table(self) -> str:
        """Return CREATE TABLE."""
        chosen = self._random.sample(NAMES, self._random.randint(1, 4))
        self._columns = {name: self._random.choice([*TYPES]) for name in chosen}
        columns = "".join(f", {name} {kind}" for name, kind in self._columns.items())
        charset = self._random.choice(["utf8mb4", "utf8mb4", "latin1", "binary"])
        return f"CREATE TABLE t ({HEAD}{columns}) CHARSET {charset}"

    def mode(self) -> str:
        """Return a sql_mode."""
        return self._random.choice(_MODES)

    def row(self) -> str:
        """Return INSERT of one row into the columns that are believed to be there."""
        self._rows += 1
        values = [self._value(kind) for kind in self._columns.values()]
        names = ", ".join(["id", *self._columns])
        return f"INSERT INTO t ({names}) VALUES ({', '.join([str(self._rows), *values])})"

    def alter(self) -> tuple[str, dict[str, str]]:
        """Return ALTER TABLE, and the columns after it."""
        after = dict(self._columns)
        count = self._random.choice([1, 1, 1, 2, 3])
        clauses = [self._clause(after) for _ in range(count)]
        # Partitioning can only come last.
        clauses.sort(key=lambda clause: "PARTITION" in clause)
        return f"ALTER TABLE t {', '.join(clauses)}", after

    def addition(self) -> tuple[str, dict[str, str]]:
        """Return ALTER TABLE that only adds and drops columns, and the columns after it."""
        random, after, clauses = self._random, dict(self._columns), []
        for name in random.sample(NAMES, random.choice([1, 1, 2, 3])):
            if after.pop(name, None) is not None:
                clauses.append(f"DROP COLUMN {name}")
                continue
            kind = after[name] = random.choice([*TYPES])
            clauses.append(f"ADD COLUMN {name} {kind}{self._attributes(kind)}{self._place()}")
        return f"ALTER TABLE t {', '.join(clauses)}", after

    def altered(self, columns: dict[str, str]) -> None:
        """Go on with the columns that `alter` returned."""
        self._columns = columns

    def _clause(self, columns: dict[str, str]) -> str:
        random = self._random
        name = random.choice(NAMES)
        kind = random.choice([*TYPES])
        before = self._columns.get(name)
        choice = random.randint(0, 9)
        if choice <= 1 or (before is None and choice <= 7):
            columns[name] = kind
            return f"ADD COLUMN {name} {kind}{self._attributes(kind)}{self._place()}"
        if choice <= 2:
            columns.pop(name, None)
            return f"DROP COLUMN {name}"
        if choice <= 3:
            other = random.choice(NAMES)
            columns[other] = columns.pop(name, kind)
            return f"RENAME COLUMN {name} TO {other}"
        if choice <= 7:
            if random.random() < 0.4 and before is not None:
                kind = before
            columns[name] = kind
            verb = random.choice(["MODIFY", f"CHANGE {name}"])
            return f"{verb} {name} {kind}{self._attributes(kind)}{self._place()}"
        if choice <= 8:
            return f"ADD INDEX ({name})"
        return random.choice(_TABLE_CLAUSES)

    def _attributes(self, kind: str) -> str:
        random = self._random
        null = random.choice(["", "", " NOT NULL", " NULL"])
        if kind.endswith(" NULL"):
            null = ""
        default = f" DEFAULT {self._value(kind)}" if random.random() < 0.5 else ""
        if kind in ("TEXT", "BLOB", "JSON") or (null == " NOT NULL" and default.endswith("NULL")):
            default = ""
        return null + default

    def _value(self, kind: str) -> str:
        return self._random.choice([*TYPES[kind], "NULL"])

    def _place(self) -> str:
        return self._random.choice(["", "", "", " FIRST", " AFTER id"])
