"""Bodies of triggers, events and procedures: what they write and call."""

from __future__ import annotations

import pytest

from connector.rules.stored_programs import program_writes

WITH_HANDLER = """\
BEGIN
  DECLARE done INT DEFAULT 0;
  DECLARE found CURSOR FOR SELECT id FROM t;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION INSERT INTO failures VALUES (1);
  OPEN found;
  rows_of_t: LOOP
    FETCH found INTO done;
    IF done THEN LEAVE rows_of_t;
    ELSE UPDATE `x y`.o SET v = REPLACE(v, 'a;', 'b') WHERE id = NEW.id; END IF;
  END LOOP;
END"""


@pytest.mark.parametrize(
    ("body", "tables"),
    [
        ("INSERT INTO shop.orders VALUES (NEW.id)", {("shop", "orders")}),
        ("REPLACE t VALUES (NEW.a)", {("", "t")}),
        ("TRUNCATE TABLE shop.t", {("shop", "t")}),
        ("IF NEW.v > 1 THEN DELETE FROM z WHERE id = OLD.id; END IF", {("", "z")}),
        (WITH_HANDLER, {("", "failures"), ("x y", "o")}),
        ("BEGIN NOT ATOMIC INSERT INTO a VALUES (1); END", {("", "a")}),
        ("CASE NEW.v WHEN 1 THEN INSERT INTO a VALUES (1); END CASE", {("", "a")}),
        ("WHILE 1 DO UPDATE w SET v = 1; END WHILE", {("", "w")}),
        ("UPDATE a JOIN b ON a.id = b.id SET b.v = 1", {("", "b")}),
        # The functions of these names write nothing.
        ("SET NEW.v = IF(1, REPLACE(NEW.v, 'a', 'b'), INSERT(NEW.v, 1, 1, ''))", set()),
        ("SELECT 'DELETE FROM t' INTO @text", set()),
    ],
)
def test_the_tables_that_a_program_writes_are_found(body: str, tables: set[object]) -> None:
    found = program_writes(body)
    assert found.tables == tables
    assert found.unknown == []


def test_procedures_and_functions_are_found_by_their_names() -> None:
    found = program_writes(
        "BEGIN CALL p(1, 'x;y'); CALL `a b`.`q``q`; SET NEW.v = shop.f(g(1)); END"
    )
    assert found.procedures == {("", "p"), ("a b", "q`q")}
    assert found.functions >= {("shop", "f"), ("", "g")}
    assert found.tables == set()


@pytest.mark.parametrize(
    ("body", "unknown"),
    [
        (
            "BEGIN UPDATE a JOIN b ON a.id = b.id SET v = 1; END",
            ["UPDATE a JOIN b ON a.id = b.id SET v = 1"],
        ),
        ("BEGIN PREPARE s FROM @text; EXECUTE s; END", ["", ""]),
        ("INSERT INTO t VALUES ('", ["INSERT INTO t VALUES ('"]),
    ],
)
def test_what_is_not_understood_is_told(body: str, unknown: list[str]) -> None:
    assert program_writes(body).unknown == unknown


@pytest.mark.parametrize(
    ("body", "sets"),
    [
        ("BEGIN SET SESSION sql_log_bin = 0; END", True),
        ("SET @@session.binlog_format = 'STATEMENT'", True),
        ("SET NEW.binlog = 1", False),
        ("INSERT INTO t VALUES ('binlog_format')", False),
    ],
)
def test_a_program_that_sets_how_its_session_logs_is_found(body: str, *, sets: bool) -> None:
    assert program_writes(body).log_settings == sets
