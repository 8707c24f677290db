"""The grammar of the torture: the same seed gives the same statements, and each kind comes."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.chaos.ddl.catalogue import Catalogue, Column, Shape
from tests.chaos.ddl.row_grammar import RowGrammar
from tests.chaos.ddl.sessions import Settings, random_settings
from tests.chaos.ddl.table_grammar import TableGrammar
from tests.chaos.ddl.words import value_of

ID, TICK = Column("id", "int"), Column("tick", "int")
TABLE = Shape("t", (ID, TICK, Column("a", "varchar(9)"), Column("g", "int", is_generated=True)))
CUT = Shape("u", (ID, TICK), is_partitioned=True)
CATALOGUE = Catalogue({"t": TABLE, "u": CUT}, frozenset({"vw"}), frozenset({"sq"}))
STATEMENTS = 600


def tables(seed: int, *, is_mariadb: bool = False, is_keyed: bool = True) -> TableGrammar:
    return TableGrammar(
        Random(seed),
        Settings().quoted,
        database="d",
        is_mariadb=is_mariadb,
        is_keyed=is_keyed,
    )


def drawn(grammar: TableGrammar) -> list[str]:
    return [text for _ in range(STATEMENTS) for text in grammar.statements(CATALOGUE)]


def test_a_seed_gives_the_same_statements_again() -> None:
    assert drawn(tables(7)) == drawn(tables(7))
    assert drawn(tables(7)) != drawn(tables(8))


@pytest.mark.parametrize("is_mariadb", [False, True])
def test_each_form_of_ddl_comes(is_mariadb: bool) -> None:
    texts = "\n".join(drawn(tables(1, is_mariadb=is_mariadb)))
    wanted = {
        "CREATE TABLE", "LIKE", "AS SELECT", "CREATE TEMPORARY", "DROP TABLE", "TRUNCATE TABLE",
        "CREATE VIEW", "RENAME TABLE `vw`", "`between`", "d_away", "ADD COLUMN", "DROP COLUMN",
        "MODIFY COLUMN", "CHANGE COLUMN", "RENAME COLUMN", "STORED", "VIRTUAL", "ADD INDEX",
        "ADD UNIQUE", "PRIMARY KEY", "PARTITION BY", "EXCHANGE PARTITION", "TRUNCATE PARTITION",
        "_t_gho", "_t_new", "_t_del", "_t_old", "CREATE TRIGGER `pt_osc_d_", "RENAME TO",
    }  # fmt: skip
    of_mariadb = {"CREATE SEQUENCE", "OR REPLACE TABLE", "RENAME TABLE IF EXISTS", "INVISIBLE"}
    assert {word for word in wanted if word not in texts} == set()
    assert {word for word in of_mariadb - {"INVISIBLE"} if word in texts} == (
        of_mariadb - {"INVISIBLE"} if is_mariadb else set()
    )


def test_id_and_tick_stay_in_each_table() -> None:
    # But for temporary tables, which have no mirror.
    grammar = tables(2)
    groups = [grammar.statements(CATALOGUE) for _ in range(STATEMENTS)]
    altered = "\n".join(
        text
        for group in groups
        for text in group
        if group and not group[0].startswith("CREATE TEMPORARY")
    )
    for word in ("DROP COLUMN", "CHANGE COLUMN", "MODIFY COLUMN", "RENAME COLUMN"):
        assert f"{word} `id`" not in altered
        assert f"{word} `tick`" not in altered


def test_tables_without_keys_never_get_one() -> None:
    made = [text for text in drawn(tables(3, is_keyed=False)) if "_ghc" not in text]
    assert not [text for text in made if "PRIMARY KEY" in text]


def test_each_form_of_a_change_of_rows_comes_and_ids_are_never_given_twice() -> None:
    grammar = RowGrammar(Random(4), Settings().quoted)
    texts = [grammar.statement(CATALOGUE) for _ in range(STATEMENTS)]
    forms = Counter(text.partition(" ")[0] for text in texts)
    assert set(forms) == {"INSERT", "REPLACE", "UPDATE", "DELETE"}
    wanted = {"JOIN", "IN (SELECT", "GROUP BY", "ON DUPLICATE", "LIMIT", "`vw`", "INSERT IGNORE"}
    assert {word for word in wanted if not any(word in text for text in texts)} == set()
    given = [
        row.partition(",")[0]
        for text in texts
        if " VALUES (" in text and "DUPLICATE" not in text
        for row in text.partition(" VALUES (")[2].split("), (")
    ]
    assert len(given) == len(set(given))


def test_a_generated_column_gets_no_value() -> None:
    grammar = RowGrammar(Random(5), Settings().quoted)
    assert not [text for _ in range(STATEMENTS) if "`g`" in (text := grammar.statement(CATALOGUE))]


def test_names_are_quoted_as_the_session_reads_them() -> None:
    assert Settings().quoted("a`b") == "`a``b`"
    assert Settings("ANSI_QUOTES").quoted('a"b') == '"a""b"'


def test_sessions_differ_and_are_always_strict() -> None:
    random = Random(6)
    found = [random_settings(random) for _ in range(100)]
    assert {each.binlog_format for each in found} == {"ROW", "MIXED", "STATEMENT"}
    assert len({each.charset for each in found}) > 2
    assert any("ANSI_QUOTES" in each.sql_mode for each in found)
    assert all(each.sql_mode.startswith("STRICT_ALL_TABLES") for each in found)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int(11) unsigned", {"7", "100"}),
        ("enum('x','y')", {"'x'", "'y'"}),
        ("longblob", {"X'FF00'", "X''"}),
        ("datetime(3)", {"'2020-02-29'", "'1999-12-31'"}),
        ("varbinary(8)", {"X'01'"}),
        ("timestamp(6)", {"'2020-02-29'", "'1999-12-31'"}),
    ],
)
def test_a_value_fits_its_type(kind: str, values: set[str]) -> None:
    random = Random(7)
    assert {value_of(random, kind) for _ in range(100)} == values | {"NULL"}
