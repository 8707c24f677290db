"""The tables that clients read, and random changes of their rows and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

DATABASE = "shop"
# Its second row is the last of all changes.
LAST_TABLE = "zz_last"

# For each table its key columns and its others, and for each column values that it can have.
Columns = dict[str, tuple[str, tuple[str, ...]]]
_NUMBERS: Columns = {
    "tiny": ("TINYINT", ("-128", "0", "127")),
    "truth": ("BOOLEAN", ("0", "1")),
    "small": ("SMALLINT UNSIGNED", ("0", "65535")),
    "medium": ("MEDIUMINT", ("-8388608", "8388607")),
    "whole": ("INT UNSIGNED", ("0", "4294967295")),
    "big": ("BIGINT", ("-9223372036854775808", "9223372036854775807")),
    "huge": ("BIGINT UNSIGNED", ("0", "18446744073709551615")),
    "price": ("DECIMAL(10,2)", ("-12345678.91", "0.01", "99999999.99")),
    "exact": ("DECIMAL(30,10)", ("-1234567890.0987654321", "99999999999999999999.9999999999")),
    "ratio": ("DOUBLE", ("-2.5e-5", "0.1", "1.7976931348623157e308")),
    "single": ("FLOAT", ("-0.5", "1234.5", "0.25")),
    "made": ("YEAR", ("1901", "1970", "2155")),
    "flag": ("BIT(1)", ("0", "1")),
    "flags": ("BIT(20)", ("0", "1", "1048575")),
}
_TEXTS: Columns = {
    "short": ("CHAR(10)", ("''", "'a b'", "'0123456789'")),
    "name": ("VARCHAR(100)", ("''", "'é€😀 <&>'", r"'quote \" backslash \\ tab \t line \n'")),
    "latin": ("VARCHAR(50) CHARACTER SET latin1", ("'café €'", "''")),
    "essay": ("MEDIUMTEXT", ("''", "REPEAT('é', 5000)")),
    "colour": ("ENUM('red', 'green', 'é')", ("'red'", "'é'")),
    "tags": ("SET('a', 'b', 'é')", ("''", "'a,é'", "'b'")),
    "document": ("JSON", ("'{}'", "'[1, 2.5, null]'", """'{"b": 1, "a": {"é": "x"}}'""")),
    "fixed": ("BINARY(4)", ("UNHEX('00000000')", "UNHEX('6100FF00')")),
    "piece": ("VARBINARY(300)", ("''", "UNHEX('00')", "REPEAT(UNHEX('FF'), 300)")),
    "blob_": ("BLOB", ("''", "UNHEX('00FF00')")),
}
_TIMES: Columns = {
    "day": ("DATE", ("'1000-01-01'", "'1969-12-31'", "'2024-02-29'", "'9999-12-31'")),
    "at": ("DATETIME", ("'1969-12-31 23:59:59'", "'2024-02-29 12:34:56'")),
    "at_ms": ("DATETIME(3)", ("'2019-07-09 02:28:57.123'", "'1969-07-09 02:28:57.009'")),
    "at_us": ("DATETIME(6)", ("'2019-07-09 02:28:57.123456'", "'1970-01-01 00:00:00'")),
    "stamp": ("TIMESTAMP NULL", ("'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'")),
    "stamp_us": ("TIMESTAMP(6) NULL", ("'2018-06-20 13:37:03.000001'", "'2018-06-20 13:37:00'")),
    "hour": ("TIME", ("'00:00:00'", "'23:59:59'")),
    "hour_us": ("TIME(6)", ("'00:00:00.000001'", "'12:34:56.789'")),
}
_SHAPES: Columns = {
    "place": ("POINT", ("POINT(1, 2)", "POINT(-1.5, 1e22)")),
    "area": (
        "GEOMETRY",
        (
            "ST_GeomFromText('POLYGON((0 0, 0 1, 1 1, 0 0))')",
            "ST_GeomFromText('POINT(10 20)', 3857)",
            "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))')",
        ),
    ),
    "embedding": ("VECTOR(3)", ("TO_VECTOR('[1,2.5,-0.5]')", "TO_VECTOR('[0,1000,0.25]')")),
}
TABLES: dict[str, tuple[Columns, Columns]] = {
    "numbers": ({"id": ("INT", ())}, _NUMBERS),
    "texts": ({"id": ("BIGINT", ())}, _TEXTS),
    "times": ({"id": ("INT UNSIGNED", ())}, _TIMES),
    "shapes": ({"id": ("INT", ())}, _SHAPES),
    # A key of two columns.
    "order_lines": (
        {"number": ("INT", ()), "part": ("VARCHAR(20)", ("'x'", "'é\"'", "'z z'"))},
        {"amount": ("DECIMAL(8,3)", ("1.5", "-0.001")), "note": ("VARCHAR(20)", ("'a'", "''"))},
    ),
    "grown": ({"id": ("INT", ())}, {"first": ("VARCHAR(20)", ("'a'", "'b'"))}),
}
# What the table `grown` has, too, after half of the changes.
_ADDED = {"later": ("DATETIME(3)", ("'2024-02-29 12:34:56.789'", "'2000-01-01'"))}
_SESSION = "SET time_zone = '+00:00'"
_COPIED_ROWS = 40
_CHANGES = 120


def columns(table: str) -> dict[str, str]:
    """Return the types of the columns that a table has in the end, by their names."""
    added = _ADDED if table == "grown" else {}
    return {name: kind for each in (*TABLES[table], added) for name, (kind, _) in each.items()}


def beginning(chance: random.Random) -> Iterator[str]:
    """Yield the statements before the copy."""
    yield _SESSION
    for table, (keys, others) in TABLES.items():
        kinds = {name: f"{kind} NOT NULL" for name, (kind, _) in keys.items()}
        kinds |= {name: kind for name, (kind, _) in others.items()}
        defined = ", ".join(f"`{name}` {kind}" for name, kind in kinds.items())
        yield f"CREATE TABLE {table} ({defined}, PRIMARY KEY ({', '.join(keys)}))"
        for number in range(_COPIED_ROWS):
            yield _insert(chance, table, number, others)
    yield f"CREATE TABLE {LAST_TABLE} (id INT PRIMARY KEY)"
    yield f"INSERT INTO {LAST_TABLE} VALUES (1)"


def changes(chance: random.Random) -> Iterator[str]:
    """Yield the statements after the copy."""
    yield _SESSION
    live = {table: list(range(_COPIED_ROWS)) for table in TABLES}
    others = {table: columns for table, (_, columns) in TABLES.items()}
    number = _COPIED_ROWS
    for half in range(2):
        for count in range(_CHANGES * len(TABLES) // 2):
            if count % 5 == 0:
                yield "COMMIT"
                yield "BEGIN"
            table = chance.choice(list(TABLES))
            number += 1
            yield _change(chance, table, live[table], number, others[table])
        yield "COMMIT"
        if half == 0:
            for name, (kind, _) in _ADDED.items():
                yield f"ALTER TABLE grown ADD COLUMN {name} {kind}"
            others["grown"] = {**others["grown"], **_ADDED}
    yield f"INSERT INTO {LAST_TABLE} VALUES (2)"


def _change(
    chance: random.Random, table: str, live: list[int], number: int, others: Columns
) -> str:
    """Return a statement; `live` are the rows' numbers, and `number` is a new one."""
    key = next(iter(TABLES[table][0]))
    kind = chance.choices(("insert", "update", "delete", "key"), (30, 40, 15, 15))[0]
    if kind == "insert" or not live:
        live.append(number)
        return _insert(chance, table, number, others)
    place = chance.randrange(len(live))
    old = live[place]
    if kind == "update":
        name, (_, values) = chance.choice(list(others.items()))
        return f"UPDATE {table} SET `{name}` = {_value(chance, values)} WHERE {key} = {old}"
    if kind == "delete":
        del live[place]
        return f"DELETE FROM {table} WHERE {key} = {old}"
    live[place] = number
    return f"UPDATE {table} SET {key} = {number} WHERE {key} = {old}"


def _insert(chance: random.Random, table: str, number: int, others: Columns) -> str:
    keys = [
        chance.choice(values) if values else str(number) for _, values in TABLES[table][0].values()
    ]
    cells = [_value(chance, values) for _, values in others.values()]
    return f"INSERT INTO {table} VALUES ({', '.join(keys + cells)})"


def _value(chance: random.Random, values: tuple[str, ...]) -> str:
    return chance.choice((*values, "NULL"))
