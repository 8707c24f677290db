"""Texts of statements: what they say, and what is refused."""

from __future__ import annotations

import pytest

from connector.foundation.errors import ConfigError
from connector.rules import rules_errors
from connector.rules.sql_parser import parse
from connector.rules.statement_facts import Kind

LOAD = (
    "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE s.t CHARACTER SET utf8 "
    "FIELDS TERMINATED BY ',' (a, @b) SET c = (SELECT v FROM q WHERE id = @b)"
)


@pytest.mark.parametrize(
    ("text", "kind", "written", "read"),
    [
        ("INSERT INTO a.t VALUES (1)", Kind.INSERT, [("a", "t")], []),
        ("INSERT DELAYED INTO t VALUES (1)", Kind.INSERT, [("", "t")], []),
        ("INSERT IGNORE t SELECT * FROM q", Kind.INSERT_SELECT, [("", "t")], [("", "q")]),
        ("REPLACE INTO t SELECT * FROM q", Kind.REPLACE_SELECT, [("", "t")], [("", "q")]),
        (
            "WITH c AS (SELECT 1) SELECT * FROM c JOIN q",
            Kind.SELECT,
            [],
            [("", "q")],
        ),
        (
            "UPDATE t a, n b SET a.v = 1, b.v = 2",
            Kind.UPDATE,
            [("", "t"), ("", "n")],
            [],
        ),
        ("UPDATE t a JOIN t b SET a.v = 1", Kind.UPDATE, [("", "t")], [("", "t")]),
        ("INSERT INTO t SELECT v FROM t", Kind.INSERT_SELECT, [("", "t")], [("", "t")]),
        ("INSERT INTO t SELECT 1 FROM DUAL", Kind.INSERT_SELECT, [("", "t")], []),
        ("DELETE a FROM t a JOIN n ON a.x = n.x", Kind.DELETE, [("", "t")], [("", "n")]),
        ("DELETE FROM a USING t a JOIN n ON a.x = n.x", Kind.DELETE, [("", "t")], [("", "n")]),
        (
            "CREATE TABLE x ENGINE=MyISAM SELECT * FROM t",
            Kind.CREATE_TABLE_SELECT,
            [("", "x")],
            [("", "t")],
        ),
        ("CREATE TEMPORARY TABLE x (a INT)", Kind.CREATE_TEMPORARY, [("", "x")], []),
        ("DROP TEMPORARY TABLE x", Kind.DROP_TEMPORARY, [("", "x")], []),
        ("TRUNCATE t", Kind.TRUNCATE, [("", "t")], []),
        ("ALTER TABLE t COALESCE PARTITION 1", Kind.DDL, [], []),
        (
            LOAD,
            Kind.LOAD_DATA,
            [("s", "t")],
            [("", "q")],
        ),
        ("SET @a = (SELECT v FROM q), b = 1", Kind.SELECT, [], [("", "q")]),
        ("DO f(1)", Kind.SELECT, [], []),
        ("SELECT a, b INTO x, @y FROM q", Kind.SELECT, [], [("", "q")]),
        ("SELECT a FROM q INTO OUTFILE 'x'", Kind.SELECT, [], [("", "q")]),
        ("START TRANSACTION READ ONLY", Kind.BEGIN, [], []),
        ("ROLLBACK TO SAVEPOINT a", Kind.ROLLBACK_TO_SAVEPOINT, [], []),
        ("XA COMMIT 'a' ONE PHASE", Kind.XA_COMMIT_ONE_PHASE, [], []),
        ("XA END 'a'", Kind.XA_END, [], []),
    ],
)
def test_a_statement_says_what_it_writes_and_reads(
    text: str, kind: Kind, written: list[tuple[str, str]], read: list[tuple[str, str]]
) -> None:
    parsed = parse(text)
    assert (parsed.kind, list(parsed.written), list(parsed.read)) == (kind, written, read)


def test_replace_is_a_statement_only_at_the_start() -> None:
    parsed = parse("UPDATE t SET v = REPLACE(v, ' REPLACE ', 'x')")
    assert (parsed.kind, parsed.functions) == (Kind.UPDATE, frozenset({"REPLACE"}))


def test_functions_and_variables_are_found_by_their_names() -> None:
    parsed = parse("INSERT INTO t VALUES (uuid(), @@server_id, f(1), CURRENT_USER)")
    assert parsed.functions == {"UUID", "F", "CURRENT_USER"}
    assert parsed.variables == {"server_id"}


def test_words_that_make_a_statement_unsafe_are_found() -> None:
    parsed = parse("UPDATE LOW_PRIORITY IGNORE t SET v = 1 LIMIT 2")
    assert (parsed.ignore, parsed.limit) == (True, True)
    assert parse("INSERT INTO t SELECT * FROM q FOR UPDATE SKIP LOCKED").skip_locked
    assert parse("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE v = 1").on_duplicate


@pytest.mark.parametrize(
    "text",
    ["", "garbage in", "CALL p() 1", "LOCK TABLES t WRITE", "XA RECOVER", "SELECT 1; SELECT 2",
     "EXECUTE s", "SET PASSWORD = 'x'", "LOAD DATA INFILE 'x'", "CALL", "CALL p(1"],
)  # fmt: skip
def test_text_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text)
    assert raised.value.code is rules_errors.NOT_UNDERSTOOD


def test_an_update_of_two_tables_needs_the_table_before_each_column() -> None:
    with pytest.raises(ConfigError) as raised:
        parse("UPDATE t, n SET v = 1")
    assert str(raised.value) == (
        "[C702] it is not certain which table the statement changes; write the table before each "
        "column in SET, and after DELETE"
    )


def test_the_columns_that_get_a_value_are_found_with_their_tables() -> None:
    t, q = ("", "t"), ("s", "q")
    assert parse("INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 2").assigned == (
        (t, "a"), (t, "b")
    )  # fmt: skip
    assert parse("UPDATE t x JOIN s.q y SET y.b = 1, x.a = 2").assigned == ((q, "b"), (t, "a"))
    loaded = parse("LOAD DATA INFILE 'x' INTO TABLE t (a, @v) SET c = @v + 1")
    assert loaded.assigned == ((t, "a"), (t, "c"))


def test_a_call_names_its_procedure_and_has_arguments() -> None:
    parsed = parse("CALL s.p(1, f(2, 3))")
    assert (parsed.called, parsed.arguments) == (("s", "p"), 2)
    assert parsed.functions == {"F"}
    assert (parse("CALL p").called, parse("CALL p()").arguments) == (("", "p"), 0)


def test_a_function_of_a_database_is_a_stored_one() -> None:
    parsed = parse("INSERT INTO t VALUES (shop.f(g(1)))")
    assert parsed.stored == {("shop", "f")}
    assert parsed.functions == {"G"}


def test_default_of_a_column_is_a_function() -> None:
    assert parse("INSERT INTO t VALUES (DEFAULT(v), DEFAULT)").functions == {"DEFAULT"}


def test_a_created_table_has_its_columns_and_keys() -> None:
    parsed = parse(
        "CREATE TABLE x (v INT UNIQUE, w INT, id INT AUTO_INCREMENT, UNIQUE KEY k (w), "
        "PRIMARY KEY (v, id)) REPLACE SELECT * FROM t"
    )
    assert [column.name for column in parsed.columns if column.auto_increment] == ["id"]
    assert [(key.name, key.columns) for key in parsed.unique_keys] == [
        ("PRIMARY", ("v", "id")), ("v", ("v",)), ("k", ("w",))
    ]  # fmt: skip
    assert (parsed.replace, parsed.ignore) == (True, False)
    assert parse("CREATE TABLE x LIKE s.t").like == ("s", "t")


def test_settings_that_a_set_changes_are_found() -> None:
    parsed = parse("SET SESSION binlog_format = 'ROW', @@sql_log_bin = 0, @a = 1, NEW.v = 2")
    assert parsed.settings == {"binlog_format", "sql_log_bin"}
    assert parse("SET SESSION TRANSACTION READ ONLY").settings == {"transaction"}


@pytest.mark.parametrize(
    ("text", "altered"),
    [
        ("ALTER TABLE t ADD c INT", ("", "t")),
        ("ALTER ONLINE IGNORE TABLE IF EXISTS `a`.`t` DROP c", ("a", "t")),
        ("CREATE INDEX i ON t (c)", ("", "t")),
        ("CREATE OR REPLACE UNIQUE INDEX IF NOT EXISTS `on` USING BTREE ON a.t (c)", ("a", "t")),
        ("CREATE FULLTEXT INDEX i ON t (c)", ("", "t")),
        ("DROP INDEX i ON t", ("", "t")),
        ("DROP INDEX IF EXISTS i ON a.`t`", ("a", "t")),
        ("ALTER VIEW v AS SELECT 1", None),
        ("CREATE TRIGGER i BEFORE INSERT ON t FOR EACH ROW SET @a = 1", None),
        ("RENAME TABLE a TO b", None),
        ("ALTER TABLE", None),
    ],
)
def test_ddl_names_the_table_that_it_alters(text: str, altered: tuple[str, str] | None) -> None:
    parsed = parse(text)
    assert (parsed.kind, parsed.altered) == (Kind.DDL, altered)
