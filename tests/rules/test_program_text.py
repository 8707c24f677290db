"""Bodies of stored programs: the statements in them, and whether each runs once, in order."""

from __future__ import annotations

import pytest

from connector.foundation.errors import ConfigError
from connector.rules.stored_programs import Program, split_program

WITH_HANDLER = """\
BEGIN
  DECLARE done INT DEFAULT 0;
  DECLARE a, b INT;
  DECLARE again CONDITION FOR SQLSTATE '40001';
  DECLARE found CURSOR FOR SELECT id FROM t;
  DECLARE CONTINUE HANDLER FOR NOT FOUND, SQLSTATE VALUE '23000', 1062 SET done = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  OPEN found;
  rows_of_t: LOOP
    FETCH found INTO a;
    IF done THEN LEAVE rows_of_t;
    ELSEIF CASE a WHEN 1 THEN 0 ELSE f(a) END THEN DELETE FROM u;
    ELSE UPDATE o SET v = IF(v, CASE WHEN v THEN 1 END, 2); END IF;
  END LOOP rows_of_t;
  CLOSE found;
END"""


@pytest.mark.parametrize(
    ("body", "statements", "in_order"),
    [
        ("INSERT INTO t VALUES (1)", ["INSERT INTO t VALUES (1)"], True),
        ("INSERT INTO t VALUES (';');", ["INSERT INTO t VALUES (';')"], True),
        ("RETURN f(2)", ["SELECT f(2)"], False),
        ("BEGIN DELETE FROM t; BEGIN DELETE FROM u; END; END", ["DELETE FROM t", "DELETE FROM u"],
         True),
        (
            WITH_HANDLER,
            [
                "SELECT 0",
                "SELECT id FROM t",
                "SET done = 1",
                "ROLLBACK",
                "SELECT done",
                "SELECT CASE a WHEN 1 THEN 0 ELSE f(a) END",
                "DELETE FROM u",
                "UPDATE o SET v = IF(v, CASE WHEN v THEN 1 END, 2)",
            ],
            False,
        ),
        (
            "CASE NEW.v WHEN 1 THEN DELETE FROM t; ELSE BEGIN END; END CASE",
            ["SELECT NEW.v", "SELECT 1", "DELETE FROM t"],
            False,
        ),
        ("x: WHILE n > 0 DO SET n = n - 1; END WHILE x", ["SELECT n > 0", "SET n = n - 1"], False),
        ("REPEAT DO f(); UNTIL 1 END REPEAT", ["DO f()", "SELECT 1"], False),
        ("FOR r IN (SELECT 1) DO DELETE FROM t; END FOR", ["SELECT 1", "DELETE FROM t"], False),
        ("FOR i IN REVERSE 1 .. 5 DO DELETE FROM t; END FOR", ["DELETE FROM t"], False),
        ("BEGIN NOT ATOMIC DELETE FROM `if`; END", ["DELETE FROM `if`"], True),
    ],
)  # fmt: skip
def test_the_statements_of_all_branches_are_found(
    body: str, statements: list[str], *, in_order: bool
) -> None:
    assert split_program(body) == Program(tuple(statements), in_order)


@pytest.mark.parametrize(
    "body",
    ["", "BEGIN DELETE FROM t", "IF 1 THEN DELETE FROM t; END", "LOOP DO 1; END WHILE", "';",
     "FOR i IN f() .. 5 DO DELETE FROM t; END FOR", "BEGIN END DELETE FROM t;"],
)  # fmt: skip
def test_a_body_that_is_not_understood_is_refused(body: str) -> None:
    with pytest.raises(ConfigError):
        split_program(body)
