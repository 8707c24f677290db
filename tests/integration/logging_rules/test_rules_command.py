"""The command `rules` on real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.rules.server import BinlogFormat
from connector.rules.unsafe_statements import UnsafeReason
from tests.application import invoke
from tests.integration.source_server import source_of

if TYPE_CHECKING:
    from local_stack import MysqlServer
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

WARNED = """\
{statement}
  STATEMENT  statement  R-log-statement-format (1)
               {reason}
  MIXED      row        R-log-row-format (2)
               {reason}
* ROW        row        R-log-row-format (1)
               {reason}
"""
REASON = UnsafeReason.SUB_STATEMENT_AUTO_INCREMENT.value


def say(source: Source, schema: str, *statements: str) -> tuple[int, str]:
    endpoint = source.server.endpoint
    address = f"{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}"
    done = invoke(["rules", f"mysql://{address}", "-D", schema, *statements])
    return done.exit_code, done.stdout + done.stderr


def test_rules_says_how_a_statement_with_a_trigger_is_logged(source: Source, schema: str) -> None:
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)",
        f"CREATE TABLE {schema}.counted (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        f"CREATE TRIGGER {schema}.added AFTER INSERT ON {schema}.t FOR EACH ROW "
        f"INSERT INTO {schema}.counted (v) VALUES (1)",
    )
    statement = "INSERT INTO t VALUES (1)"
    expected = WARNED.format(statement=statement, reason=REASON)
    assert say(source, schema, statement) == (0, expected)


def test_rules_knows_the_temporary_tables_of_a_procedure(source: Source, schema: str) -> None:
    changes = ["ALTER TABLE x ADD b INT", "CREATE INDEX i ON x (a)", "DROP INDEX i ON x"]
    body = "; ".join(["CREATE TEMPORARY TABLE x (a INT)", *changes, "ALTER TABLE t ADD b INT"])
    source.execute(
        f"CREATE TABLE {schema}.t (a INT PRIMARY KEY)",
        f"CREATE PROCEDURE {schema}.p() BEGIN {body}; END",
    )
    code, output = say(source, schema, "CALL p()")
    assert code == 0, output
    rows = [line.strip("* ").split() for line in output.splitlines() if "ROW  " in line]
    assert [logged for _, logged, *_ in rows] == [*["nothing"] * 4, "statement"]


def test_rules_says_what_it_cannot_know(source: Source, schema: str) -> None:
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)",
        f"CREATE VIEW {schema}.counted AS SELECT COUNT(*) AS n FROM {schema}.t",
        f"CREATE TRIGGER {schema}.added BEFORE INSERT ON {schema}.t FOR EACH ROW CALL prepare()",
        f"CREATE PROCEDURE {schema}.prepare() BEGIN SET @@SESSION.binlog_format = 'ROW'; END",
        f"CREATE PROCEDURE {schema}.add_one(n INT) INSERT INTO {schema}.t VALUES (n)",
        f"CREATE PROCEDURE {schema}.prepared() BEGIN PREPARE s FROM 'DO 1'; EXECUTE s; END",
    )
    name = source.name
    refused = {
        "DELETE FROM gone": ("C703", f"{name}: there is no table {schema}.gone that the account"),
        "CREATE TABLE x (id INT) ENGINE=SPIDER": (
            "C704",
            "x has the engine SPIDER, and it is not known what that can log",
        ),
        "DELETE FROM counted": (
            "C709",
            f"it is not certain what the statement changes below the view {schema}.counted",
        ),
        "INSERT INTO t VALUES (1)": (
            "C705",
            f"procedure {schema}.prepare, which the statement invokes",
        ),
        "DELETE FROM t WHERE id = price()": (
            "C706",
            f"{name}: PRICE is no stored function, and no",
        ),
        "CALL p()": ("C707", f"{name}: there is no procedure {schema}.p that the account may see"),
        "CALL add_one(1, 2)": (
            "C708",
            f"the number of the parameters of procedure {schema}.add_one is 1",
        ),
        "CALL prepared()": ("C705", f"procedure {schema}.prepared, which the statement invokes"),
        "LOCK TABLES t WRITE": (
            "C701",
            "the statement is not understood, so it is not known how it is logged",
        ),
    }
    for statement, (code, message) in refused.items():
        exit_code, output = say(source, schema, statement)
        assert exit_code == 2
        assert output.startswith(f"error: [{code}] {message}")


def warned(source: Source, schema: str, statement: str) -> list[str]:
    """Execute a statement in STATEMENT format; return the reasons that the server gives."""
    rows = source.execute(
        f"USE {schema}", "SET SESSION binlog_format = STATEMENT", statement, "SHOW WARNINGS"
    )
    texts = [str(text) for _, _, text in rows]
    return sorted(each.value for each in UnsafeReason if any(each.value in text for text in texts))


def told(source: Source, schema: str, statement: str) -> list[str]:
    """Return the reasons that `rules` gives."""
    code, output = say(source, schema, statement)
    assert code == 0, output
    _, _, *rest = output.splitlines()
    end = next(index for index, line in enumerate(rest) if "MIXED" in line)
    return [line.strip() for line in rest[:end]]


@pytest.mark.parametrize(
    ("statement", "reasons"),
    [
        ("INSERT INTO t SELECT id FROM plain", []),
        ("INSERT INTO t SELECT id FROM named", [UnsafeReason.SYSTEM_FUNCTION]),
        ("INSERT INTO t SELECT id FROM named_again", [UnsafeReason.SYSTEM_FUNCTION]),
        ("INSERT INTO t SELECT id FROM limited", [UnsafeReason.LIMIT]),
        ("INSERT INTO t VALUES (first_id())", [UnsafeReason.LIMIT]),
    ],
)
def test_views_and_functions_give_their_reasons_to_the_statement(
    source: Source, schema: str, statement: str, reasons: list[UnsafeReason]
) -> None:
    source.execute(
        f"USE {schema}",
        "CREATE TABLE t (id BIGINT)",
        "CREATE TABLE r (id BIGINT)",
        "CREATE VIEW plain AS SELECT id FROM r",
        "CREATE VIEW named AS SELECT OCTET_LENGTH(UUID()) AS id",
        "CREATE VIEW named_again AS SELECT id FROM named",
        "CREATE VIEW limited AS SELECT id FROM r LIMIT 1",
        "CREATE FUNCTION first_id() RETURNS BIGINT READS SQL DATA "
        "RETURN (SELECT id FROM r LIMIT 1)",
    )
    expected = [reason.value for reason in reasons]
    assert told(source, schema, statement) == expected
    assert warned(source, schema, statement) == expected


REASONS = [
    ("INSERT INTO seen VALUES (7)", [UnsafeReason.SUB_STATEMENT_AUTO_INCREMENT]),
    ("UPDATE joined SET b = 3 WHERE id = 1", []),
    ("UPDATE plain SET v = DEFAULT(v)", []),
    ("INSERT INTO plain VALUES (8, branching(1))", [UnsafeReason.SYSTEM_FUNCTION]),
    ("INSERT INTO plain VALUES (9, looping(1))", [UnsafeReason.SUB_STATEMENT_AUTO_INCREMENT]),
    ("DELETE FROM plain", [UnsafeReason.SUB_STATEMENT_AUTO_INCREMENT]),
    ("SET @a = looping(1)", [UnsafeReason.SUB_STATEMENT_AUTO_INCREMENT]),
    (
        "CREATE TABLE made (id INT AUTO_INCREMENT PRIMARY KEY) SELECT 1 AS x",
        [UnsafeReason.CREATE_SELECT_AUTO_INCREMENT],
    ),
    ("CREATE TABLE made_again REPLACE SELECT 1 AS x", [UnsafeReason.CREATE_REPLACE_SELECT]),
]


def test_views_programs_and_created_tables_give_their_reasons(source: Source, schema: str) -> None:
    source.execute(
        f"USE {schema}",
        "CREATE TABLE plain (id INT PRIMARY KEY, v INT DEFAULT 3)",
        "CREATE TABLE other (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "CREATE VIEW seen AS SELECT id FROM t WHERE id > 1",
        "CREATE VIEW joined AS SELECT p.id, p.v AS a, o.v AS b "
        "FROM plain p JOIN other o USING (id)",
        "INSERT INTO plain VALUES (1, 1)",
        "CREATE TRIGGER added AFTER INSERT ON t FOR EACH ROW "
        "INSERT INTO counted (v) VALUES (NEW.id)",
        # It also counts if the row is only changed, or taken away.
        "CREATE TRIGGER gone AFTER DELETE ON plain FOR EACH ROW "
        "IF OLD.id > 5 THEN UPDATE counted SET v = 1; END IF",
        "CREATE FUNCTION branching(n INT) RETURNS INT READS SQL DATA "
        "BEGIN IF n > 1 THEN RETURN LENGTH(UUID()); ELSE RETURN n; END IF; END",
        "CREATE FUNCTION looping(n INT) RETURNS INT DETERMINISTIC BEGIN "
        "WHILE n > 1 DO INSERT INTO counted (v) VALUES (n); SET n = n - 1; END WHILE; "
        "INSERT INTO counted (v) VALUES (n); RETURN 1; END",
    )
    for statement, reasons in REASONS:
        expected = sorted(reason.value for reason in reasons)
        assert told(source, schema, statement) == expected, statement
        if not statement.startswith("SET"):
            assert warned(source, schema, statement) == expected, statement


CALLED = """\
CALL settle(5)
  perhaps: INSERT INTO t VALUES (n)
    STATEMENT  statement  R-log-statement-format (1)
    MIXED      statement  R-log-statement-format (2)
    or         row        R-log-row-format: row format stays from an earlier statement
  * ROW        row        R-log-row-format (1)
  perhaps: UPDATE t SET id = 0 LIMIT 1
    STATEMENT  statement  R-log-statement-format (1)
                 The statement is unsafe because it uses a LIMIT clause
    MIXED      row        R-log-row-format (2)
                 The statement is unsafe because it uses a LIMIT clause
  * ROW        row        R-log-row-format (1)
                 The statement is unsafe because it uses a LIMIT clause
"""


def test_a_call_is_said_by_the_statements_of_its_procedure(source: Source, schema: str) -> None:
    source.execute(
        f"USE {schema}",
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE PROCEDURE settle(n INT) BEGIN IF n > 1 THEN INSERT INTO t VALUES (n); "
        "ELSE UPDATE t SET id = 0 LIMIT 1; END IF; END",
    )
    assert say(source, schema, "CALL settle(5)") == (0, CALLED)


LOADED = """\
LOAD DATA INFILE '/x' INTO TABLE t
  STATEMENT  statement  R-log-statement-format (1)
  MIXED      row        R-log-row-format (2): LOAD DATA
* ROW        row        R-log-row-format (1)
XA PREPARE 'a'
  STATEMENT  nothing    XA: the transaction cache is written, and ends with it
  MIXED      nothing    XA: the transaction cache is written, and ends with it
* ROW        nothing    XA: the transaction cache is written, and ends with it
"""


def test_load_data_and_statements_of_transactions_name_their_rules(
    source: Source, schema: str
) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)")
    code, output = say(source, schema, "LOAD DATA INFILE '/x' INTO TABLE t", "XA PREPARE 'a'")
    assert (code, output) == (0, LOADED)


OF_DEFAULTS = [
    "INSERT INTO d VALUES (10, 'a')",
    "INSERT INTO d (id) VALUES (11)",
    "INSERT INTO d VALUES (12, DEFAULT)",
    "REPLACE INTO d SET id = 10, v = DEFAULT",
    "UPDATE d SET v = 'b'",
    "UPDATE d SET v = DEFAULT",
    "INSERT INTO added VALUES (20)",
]


def test_an_unsafe_default_counts_where_the_server_says_so(source: Source, schema: str) -> None:
    source.execute(
        f"USE {schema}",
        "CREATE TABLE d (id INT PRIMARY KEY, v VARCHAR(40) DEFAULT (UUID()))",
        "CREATE TABLE added (id INT PRIMARY KEY)",
        "CREATE TRIGGER adds AFTER INSERT ON added FOR EACH ROW INSERT INTO d (id) VALUES (NEW.id)",
    )
    for statement in OF_DEFAULTS:
        expected = warned(source, schema, statement)
        assert told(source, schema, statement) == expected, statement


def test_a_function_that_is_loaded_into_the_server_is_unsafe(mysql_9: MysqlServer) -> None:
    source = source_of(mysql_9)
    source.execute(
        "CREATE DATABASE loaded",
        "CREATE TABLE loaded.t (id INT)",
        "CREATE FUNCTION service_release_locks RETURNS INT SONAME 'locking_service.so'",
    )
    try:
        statement = "INSERT INTO t VALUES (service_release_locks('a'))"
        assert told(source, "loaded", statement) == [UnsafeReason.UDF.value]
        assert warned(source, "loaded", statement) == [UnsafeReason.UDF.value]
    finally:
        source.execute("DROP FUNCTION service_release_locks", "DROP DATABASE loaded")


COUNTER, FIRST = UnsafeReason.WRITE_AUTO_INCREMENT_SELECT, UnsafeReason.AUTO_INCREMENT_NOT_FIRST
COUNTED_TABLES = [
    "CREATE TABLE i (id INT AUTO_INCREMENT PRIMARY KEY, n INT)",
    "CREATE TABLE k (a INT PRIMARY KEY, n INT)",
    "CREATE TABLE m (a INT PRIMARY KEY, n INT)",
    "CREATE TABLE later (g INT, id INT AUTO_INCREMENT, KEY (g, id)) ENGINE=MyISAM",
    "CREATE TABLE also_first (g INT, id INT AUTO_INCREMENT, PRIMARY KEY (g, id), KEY (id))",
    "CREATE TABLE reading (id INT AUTO_INCREMENT PRIMARY KEY, n INT)",
    "CREATE VIEW seen AS SELECT id, n FROM i",
    "CREATE VIEW joined AS SELECT i.id AS id, i.n AS n, k.n AS kn FROM i JOIN k ON i.id = k.a",
    "CREATE VIEW limited AS SELECT id, n FROM i WHERE n < (SELECT COUNT(*) + 100 FROM m)",
    "CREATE FUNCTION counted_m() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM m)",
    "CREATE TRIGGER read_m BEFORE INSERT ON reading FOR EACH ROW SET NEW.n = counted_m()",
    "INSERT INTO i VALUES (1, 1), (2, 2)",
    "INSERT INTO k VALUES (1, 1), (2, 2)",
    "INSERT INTO m VALUES (1, 1)",
    "INSERT INTO later VALUES (1, 1)",
]
OF_COUNTERS = [
    ("UPDATE i JOIN k ON i.id = k.a SET i.n = 5", [COUNTER]),
    ("UPDATE i, m SET i.n = 6", [COUNTER]),
    ("UPDATE i, m SET m.n = 7", []),
    ("UPDATE i, k SET i.n = 8, k.n = 8", []),
    ("UPDATE i SET n = (SELECT COUNT(*) FROM m)", [COUNTER]),
    ("UPDATE i SET n = 9", []),
    ("UPDATE i x JOIN i y ON x.id = y.id SET x.n = 10", [COUNTER]),
    ("UPDATE i SET n = counted_m()", [COUNTER]),
    ("UPDATE k SET n = (SELECT COUNT(*) FROM i)", []),
    ("DELETE i FROM i JOIN k ON i.id = k.a + 100", [COUNTER]),
    ("DELETE FROM x USING i AS x JOIN k ON x.id = k.a + 100", [COUNTER]),
    ("DELETE FROM i WHERE id = (SELECT MAX(a) + 50 FROM m)", [COUNTER]),
    ("INSERT INTO i (n) VALUES ((SELECT COUNT(*) FROM m))", [COUNTER]),
    ("INSERT INTO i (n) SELECT n FROM i", [COUNTER]),
    ("INSERT INTO i (n) SELECT 1 FROM DUAL", []),
    ("REPLACE INTO i (n) VALUES ((SELECT COUNT(*) FROM m))", [COUNTER]),
    ("INSERT INTO reading (n) VALUES (1)", [COUNTER]),
    ("UPDATE reading SET n = 1", []),
    ("UPDATE seen SET n = 11", []),
    ("UPDATE joined SET n = 12", [COUNTER]),
    ("UPDATE limited SET n = 13", [COUNTER]),
    ("UPDATE later SET g = 2", [FIRST]),
    ("DELETE FROM later WHERE g = 77", [FIRST]),
    ("INSERT INTO later (g) VALUES (1)", [FIRST]),
    ("INSERT INTO also_first (g) VALUES (1)", []),
    (
        "CREATE TABLE made (id INT AUTO_INCREMENT PRIMARY KEY) SELECT n FROM k",
        [COUNTER, UnsafeReason.CREATE_SELECT_AUTO_INCREMENT],
    ),
]


def test_a_counter_beside_a_read_makes_a_statement_of_any_kind_unsafe(
    source: Source, schema: str
) -> None:
    source.execute(f"USE {schema}", *COUNTED_TABLES)
    for statement, reasons in OF_COUNTERS:
        expected = sorted(reason.value for reason in reasons)
        assert told(source, schema, statement) == expected, statement
        assert warned(source, schema, statement) == expected, statement


OF_RAND = [
    "INSERT INTO k VALUES (1, RAND() * 10)",
    "INSERT INTO k SELECT 2, RAND() * 10",
    "INSERT INTO k VALUES (2, 1) ON DUPLICATE KEY UPDATE n = RAND()",
    "INSERT INTO k SELECT 2, 2 ON DUPLICATE KEY UPDATE n = RAND()",
    "INSERT INTO k VALUES (3, chance())",
    "INSERT INTO k SELECT 4, n FROM chances",
    "INSERT INTO given VALUES (1, 1)",
    "REPLACE INTO k VALUES (5, RAND())",
    "UPDATE k SET n = RAND(5) * 10 + 20",
    "DELETE FROM k WHERE a < 3 + RAND()",
    "INSERT INTO k SELECT a + 10, 1 FROM k WHERE a = 3 FOR UPDATE SKIP LOCKED",
]


def test_rand_is_unsafe_where_the_server_says_so(source: Source, schema: str) -> None:
    source.execute(
        f"USE {schema}",
        "CREATE TABLE k (a INT PRIMARY KEY, n INT)",
        "CREATE TABLE given (a INT PRIMARY KEY, n INT)",
        "CREATE FUNCTION chance() RETURNS INT NO SQL RETURN RAND() * 10",
        "CREATE VIEW chances AS SELECT RAND() * 10 AS n",
        "CREATE TRIGGER gives BEFORE INSERT ON given FOR EACH ROW SET NEW.n = RAND()",
    )
    for statement in OF_RAND:
        expected = warned(source, schema, statement)
        assert told(source, schema, statement) == expected, statement


OF_DUPLICATES = [
    "INSERT INTO x (id) VALUES (1)",
    "INSERT INTO x (id, a) VALUES (2, NULL)",
    "INSERT INTO x (id, a) VALUES (3, DEFAULT)",
    "INSERT INTO x VALUES (4, 4, 1)",
    "INSERT INTO x (id) SELECT 5",
    "INSERT INTO x SET id = 6",
    "INSERT INTO seen (id) VALUES (7)",
    "INSERT INTO given (id) VALUES (1)",
    "INSERT INTO pair (id, a) VALUES (1, 1)",
    "INSERT INTO pair (id, a, b) VALUES (2, 2, 2)",
    "INSERT INTO counted (a) VALUES (1)",
    "INSERT INTO counted (n) VALUES (1)",
]


def test_only_keys_that_can_be_doubled_count_for_on_duplicate_key(
    source: Source, schema: str
) -> None:
    source.execute(
        f"USE {schema}",
        "CREATE TABLE x (id INT PRIMARY KEY, a INT UNIQUE, n INT)",
        "CREATE VIEW seen AS SELECT id, n FROM x",
        "CREATE TABLE given (id INT PRIMARY KEY, a INT DEFAULT 5 UNIQUE, n INT)",
        "CREATE TABLE pair (id INT PRIMARY KEY, a INT, b INT, n INT, UNIQUE (a, b))",
        "CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, a INT UNIQUE, n INT)",
    )
    for inserts in OF_DUPLICATES:
        statement = f"{inserts} ON DUPLICATE KEY UPDATE n = 9"
        expected = warned(source, schema, statement)
        assert told(source, schema, statement) == expected, statement


OF_KEYS = [
    "INSERT INTO child (p) VALUES (1)",
    "UPDATE child SET n = 4",
    "DELETE FROM child WHERE id = 99",
    "DELETE FROM parent WHERE id = 99",
    "UPDATE parent SET n = 4",
    "REPLACE INTO parent VALUES (1, 1)",
    "INSERT INTO parent VALUES (5, 1)",
    "DELETE FROM plain WHERE id = 99",
    "UPDATE plain SET n = 4",
    "INSERT INTO self (n) VALUES (1)",
    "UPDATE self SET n = 5",
]


@pytest.mark.parametrize("name", ["mysql_9", "mysql_server", "mariadb_server"])
def test_foreign_keys_count_where_the_server_says_so(
    name: str, request: pytest.FixtureRequest
) -> None:
    source, schema = source_of(request.getfixturevalue(name)), "keys_of_rules"
    source.execute(
        f"CREATE DATABASE {schema}",
        f"USE {schema}",
        "CREATE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, n INT)",
        "CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, n INT, p INT, "
        "FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL)",
        "CREATE TABLE plain (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE gone (id INT AUTO_INCREMENT PRIMARY KEY, p INT, "
        "FOREIGN KEY (p) REFERENCES plain (id) ON DELETE CASCADE)",
        "CREATE TABLE self (id INT AUTO_INCREMENT PRIMARY KEY, n INT, p INT, "
        "FOREIGN KEY (p) REFERENCES self (id))",
        "INSERT INTO parent VALUES (1, 1)",
        "INSERT INTO plain VALUES (1, 1)",
    )
    try:
        for statement in OF_KEYS:
            expected = warned(source, schema, statement)
            assert told(source, schema, statement) == expected, statement
    finally:
        source.execute(f"DROP DATABASE {schema}")


TEXTS = [
    "GRANT SELECT ON *.* TO a",
    "RENAME TABLE t TO t2",
    "ANALYZE TABLE t",
    "CREATE OR REPLACE VIEW v AS SELECT 1 FROM t",
    "CREATE UNIQUE INDEX i ON t (n)",
    "DROP DATABASE t",
    "ALTER VIEW v AS SELECT 1",
]


def test_rules_says_that_ddl_is_always_a_text(source: Source, schema: str) -> None:
    for statement in TEXTS:
        _, output = say(source, schema, statement)
        assert output.count("statement  R-log-statement-format") == len(BinlogFormat), statement
    _, output = say(source, schema, "OPTIMIZE LOCAL TABLE t")
    assert output.count("nothing") == 2 * len(BinlogFormat)


def test_a_statement_of_a_procedure_does_not_steer_the_terminal(
    source: Source, schema: str
) -> None:
    source.execute(
        f"CREATE TABLE {schema}.t (v VARCHAR(9))",
        f"CREATE PROCEDURE {schema}.p() INSERT INTO {schema}.t VALUES ('\x1b[2J')",
    )
    code, said = say(source, schema, "CALL p()")
    assert code == 0
    assert f"once: INSERT INTO {schema}.t VALUES ('\\u001b[2J')" in said
    assert "\x1b" not in said
