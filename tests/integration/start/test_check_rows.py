"""`check` lists what would not arrive as rows: word for word, on each kind of server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.replication.server.identity import version_of
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.source.followed_tables import base_tables
from connector.stream.source.row_logging import row_gaps
from local_stack import MysqlServer as MysqlServerProcess
from local_stack.server import free_port
from tests import forked_command
from tests.integration.source_server import source_of
from tests.length import FULL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.foundation.settings.sections import SourceSettings
    from connector.stream.source.findings import RowLoggingGap
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

PATIENCE_SECONDS = 60.0
TITLE = "Changes of followed tables that would not arrive as whole rows:"
TABLES = (
    "followed_rows.orders (id INT PRIMARY KEY, note TEXT)",
    (
        "followed_rows.items (id INT PRIMARY KEY, order_id INT, "
        "FOREIGN KEY (order_id) REFERENCES followed_rows.orders (id) ON DELETE CASCADE)"
    ),
    "followed_rows.whole (code INT NOT NULL UNIQUE)",
    "followed_rows.codes (code INT UNIQUE)",
    "followed_rows.entries (v INT)",
    "followed_rows.numbers (id INT AUTO_INCREMENT, KEY (id))",
    "followed_rows.part (id INT NOT NULL, KEY (id)) ENGINE=MyISAM",
    (
        "followed_rows.whole_of_parts (id INT NOT NULL, KEY (id)) "
        "ENGINE=MERGE UNION=(followed_rows.part)"
    ),
    "followed_rows.scratch (id INT PRIMARY KEY)",
    "followed_rows.prices (id INT PRIMARY KEY, net INT, gross INT AS (net * 2) STORED)",
    "other_rows.inbox (id INT PRIMARY KEY)",
)
ONCE_A_DAY = "ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01' DO"
PROGRAMS = (
    (
        "TRIGGER followed_rows.sent AFTER INSERT ON followed_rows.orders FOR EACH ROW "
        "INSERT INTO other_rows.inbox VALUES (NEW.id)"
    ),
    (
        "TRIGGER followed_rows.scratched AFTER INSERT ON followed_rows.scratch FOR EACH ROW "
        "INSERT INTO orders (id) VALUES (NEW.id)"
    ),
    (
        "TRIGGER other_rows.arrived AFTER DELETE ON other_rows.inbox FOR EACH ROW "
        "IF OLD.id > 1 THEN UPDATE followed_rows.orders SET note = 'x' WHERE id = OLD.id; END IF"
    ),
    "PROCEDURE other_rows.clean() DELETE FROM followed_rows.entries",
    "PROCEDURE other_rows.load_all() BEGIN SET sql_log_bin = 0; INSERT INTO inbox VALUES (1); END",
    f"EVENT other_rows.nightly {ONCE_A_DAY} CALL clean()",
    f"EVENT other_rows.harmless {ONCE_A_DAY} DELETE FROM inbox",
    (
        f"EVENT other_rows.made_up {ONCE_A_DAY} "
        "BEGIN PREPARE s FROM 'DELETE FROM followed_rows.orders'; EXECUTE s; END"
    ),
)
FOREIGN_KEYS = """\
R-log-row-format: [S651] foreign keys change rows of these tables without a trace in the log of \
this server: followed_rows.items
  they are copied again after such changes, all of a table after a delete with CASCADE; \
schema.cascade_seconds says how often
"""
COMPUTED = """\
row images: [S681] the records leave out generated columns, because the log of this server does \
not have them in rows of UPDATE and DELETE
  followed_rows.prices  without gross
  compute them where the records are read
"""
VERSIONS = """\
versions: [S682] these tables have versions by numbers of transactions: the log has the text of \
each change, in each binlog_format, and the stream stops at it
  followed_rows.numbered
  give them versions by time (columns of the type TIMESTAMP(6)), or exclude them
"""
HOLE = """\
R-log-row-format: [S666] BLACKHOLE keeps no rows: the log has those of INSERT, and UPDATE and \
DELETE find none
  followed_rows.hole  ALTER TABLE `followed_rows`.`hole` ENGINE = InnoDB
"""
UNION = """\
R-log-row-format: [S667] a table of {engine} is a union of others: the log has each row once, \
under the name that the statement uses
  followed_rows.whole_of_parts
  follow the tables of the union, and let statements name only these
"""
WRITES = """\
[S671] these write followed tables for statements on others; if a session has another \
binlog_format than ROW, the log can have the text of such a statement, and the stream stops at it
"""
NIGHTLY = "event other_rows.nightly"
SCRATCHED = "trigger followed_rows.scratched on scratch"
ARRIVED = "trigger other_rows.arrived on inbox"
NO_FORMAT = "  let no account change binlog_format\n"
OF_MYSQL = f"""\
R-log-statement-format: {WRITES}\
  {NIGHTLY}                    writes followed_rows.entries
  {SCRATCHED}  writes followed_rows.orders
  {ARRIVED}         writes followed_rows.orders
{NO_FORMAT}"""
OF_MARIADB = f"""\
R-log-statement-format: {WRITES}\
  {NIGHTLY}                    writes followed_rows.entries
  {SCRATCHED}  writes followed_rows.orders
{NO_FORMAT}\
R-log-statement-format: [S672] these write followed tables for statements on databases that are \
not followed; if a session has another binlog_format than ROW, the log can have the text of such a \
statement, and it passes unseen
  {ARRIVED}  writes followed_rows.orders
  let no account change binlog_format, or follow a table of these databases, so that the stream \
stops at such a statement
"""
UNKNOWN = """\
R-log-statement-format: [S673] it is not known which tables these write
  event other_rows.made_up
  look for followed tables in them: `check` lists only what it understands
sql_log_bin: [S674] these change how their session logs
  procedure other_rows.load_all
  take the statement out of them, or see to it that they change no followed table
"""
ROW_ID = "ADD COLUMN row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY"
KEYS = f"""\
row images: PKE: [S675] these tables have no primary key, and no unique key without nullable \
columns: their rows arrive without a key
  followed_rows.codes           ALTER TABLE `followed_rows`.`codes` {ROW_ID}
  followed_rows.entries         ALTER TABLE `followed_rows`.`entries` {ROW_ID}
  followed_rows.numbers         ALTER TABLE `followed_rows`.`numbers` ADD PRIMARY KEY (`id`)
  followed_rows.part            ALTER TABLE `followed_rows`.`part` {ROW_ID}
  followed_rows.whole_of_parts
"""
NOT_SEEN = """\
[S679] not seen: sessions of accounts with {rights} can change binlog_format for themselves, or \
set sql_log_bin = 0, after which the log has nothing of their changes
"""
RIGHTS = "SESSION_VARIABLES_ADMIN or SYSTEM_VARIABLES_ADMIN or SUPER"


@pytest.fixture
def rows(source: Source) -> Iterator[Source]:
    """A server with a schema that has each case."""
    engine = ["followed_rows.hole (id INT PRIMARY KEY) ENGINE=BLACKHOLE"]
    if source.is_mariadb:
        numbers = (
            "s BIGINT UNSIGNED AS ROW START, e BIGINT UNSIGNED AS ROW END, "
            "PERIOD FOR SYSTEM_TIME (s, e)"
        )
        engine = [
            f"followed_rows.numbered (id INT PRIMARY KEY, {numbers}) WITH SYSTEM VERSIONING",
            "followed_rows.timed (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
        ]
    try:
        source.execute(
            "CREATE DATABASE followed_rows",
            "CREATE DATABASE other_rows",
            *(f"CREATE TABLE {table}" for table in (*TABLES, *engine)),
            *(f"CREATE {program}" for program in PROGRAMS),
        )
        yield source
    finally:
        names = ("followed_rows", "other_rows")
        source.execute(*(f"DROP DATABASE IF EXISTS {name}" for name in names))


def settings(source: Source, **changes: object) -> SourceSettings:
    """Return settings of the administrator."""
    endpoint = source.server.endpoint
    followed = {
        "tables": ["followed_rows.*"],
        "exclude_tables": ["*.scratch"],
        "user": endpoint.user,
        "password": endpoint.password,
    }
    return source.settings(**followed | changes)


def config_of(source: Source, directory: Path) -> Path:
    """Write a configuration; nobody listens where its broker should be."""
    endpoint = source.server.endpoint
    config = directory / "check.toml"
    config.write_text(
        f"""\
name = "rows"
[source]
host = "{endpoint.host}"
port = {endpoint.port}
user = "{endpoint.user}"
password = "{endpoint.password}"
server_id = 4001
tables = ["followed_rows.*"]
exclude_tables = ["*.scratch"]
[kafka]
bootstrap_servers = ["127.0.0.1:{free_port()}"]
topic_prefix = "rows"
"""
    )
    config.chmod(0o600)
    return config


def gaps_of(source: Source, **changes: object) -> list[RowLoggingGap]:
    chosen = settings(source, **changes)
    with MysqlServer.connect(chosen) as server:
        return list(row_gaps(server, chosen, base_tables(server), copies=True))


def shown(gaps: list[RowLoggingGap]) -> list[tuple[str, str]]:
    return [(gap.rule, str(gap.problem)) for gap in gaps]


def test_check_lists_each_case_with_its_rule_and_what_to_do(rows: Source, tmp_path: Path) -> None:
    command = ["check", str(config_of(rows, tmp_path))]
    (done,) = forked_command.run_all([command], PATIENCE_SECONDS)
    found = done.stdout[done.stdout.index(TITLE) :]
    if rows.is_mariadb:
        parts = [VERSIONS, FOREIGN_KEYS, UNION.format(engine="MRG_MyISAM"), OF_MARIADB, UNKNOWN]
        parts.append(KEYS)
        with MysqlServer.connect(settings(rows)) as server:
            leaves_out_generated = version_of(server.identity).leaves_out_generated
        if leaves_out_generated:
            parts.insert(0, COMPUTED)
        rights = "BINLOG ADMIN"
    else:
        parts = [FOREIGN_KEYS, HOLE, UNION.format(engine="MRG_MYISAM"), OF_MYSQL, UNKNOWN, KEYS]
        rights = RIGHTS
    expected = [TITLE + "\n", *parts, NOT_SEEN.format(rights=rights), "not ready\n"]
    assert found == "".join(expected)


def test_what_is_written_through_views_is_listed(rows: Source) -> None:
    rows.execute(
        "CREATE VIEW other_rows.all_orders AS SELECT * FROM followed_rows.orders",
        "CREATE VIEW other_rows.noted AS SELECT id, note FROM other_rows.all_orders WHERE id > 0",
        "CREATE VIEW other_rows.pairs AS SELECT o.note, i.id FROM followed_rows.orders o "
        "JOIN other_rows.inbox i ON o.id = i.id",
        "CREATE TRIGGER other_rows.changed AFTER UPDATE ON other_rows.inbox FOR EACH ROW "
        "UPDATE noted SET note = 'x' WHERE id = OLD.id",
        f"CREATE EVENT other_rows.paired {ONCE_A_DAY} UPDATE pairs SET note = 'x'",
    )
    found = {(str(gap.problem.code), *place) for gap in gaps_of(rows) for place in gap.places}
    written = "S672" if rows.is_mariadb else "S671"
    trigger = "trigger other_rows.changed on inbox"
    assert (written, trigger, "writes followed_rows.orders") in found
    # Which table of a join is written is not looked up.
    assert ("S673", "event other_rows.paired", "") in found


def test_the_statements_that_check_shows_fix_what_it_lists(rows: Source) -> None:
    codes = {"S666", "S675"}

    def listed() -> list[tuple[str, str]]:
        gaps = gaps_of(rows, exclude_tables=["*.scratch", "*.whole_of_parts"])
        return [place for gap in gaps if str(gap.problem.code) in codes for place in gap.places]

    statements = [statement for _, statement in listed()]
    assert statements
    rows.execute(*statements)
    assert listed() == []


def test_the_formats_of_server_and_sessions_are_told(source: Source) -> None:
    assert shown(gaps_of(source)) == []
    how = "SET GLOBAL binlog_format = 'ROW', and binlog_format = ROW in the server's option file"
    if not source.is_mariadb:
        how = "SET PERSIST binlog_format = 'ROW'"
    fix = f"{how}; sessions that are open keep the old value until they reconnect"
    try:
        source.execute("SET GLOBAL binlog_format = MIXED")
        mixed = shown(gaps_of(source))
        source.execute("SET GLOBAL binlog_format = STATEMENT")
        stated = shown(gaps_of(source))
    finally:
        source.execute("SET GLOBAL binlog_format = ROW")
    assert [text[1:5] for _, text in stated] == ["S661", "S663", "S664"]
    copied = "R-log-create-select-statement-format"
    because = "is logged as its text, because binlog_format is"
    temporary = f"[S664] a change that reads a temporary table {because} "
    create_select = f"[S663] CREATE TABLE … SELECT {because} "
    assert mixed[:2] == [
        (
            "R-log-statement-format (2)",
            (
                "[S662] the log has the text of each statement that is safe, because binlog_format "
                f"is MIXED; {fix}"
            ),
        ),
        (copied, f"{create_select}MIXED; nothing is lost: the new table is copied"),
    ]
    of_temporary = ("temporary tables", f"{temporary}MIXED; {fix}")
    assert mixed[2:] == ([of_temporary] if source.is_mariadb else [])
    assert stated == [
        (
            "R-log-statement-format (1)",
            (
                "[S661] the log has the text of each statement, because binlog_format is "
                f"STATEMENT; {fix}"
            ),
        ),
        (copied, f"{create_select}STATEMENT; nothing is lost: the new table is copied"),
        ("temporary tables", f"{temporary}STATEMENT; {fix}"),
    ]


@pytest.mark.skipif(not FULL, reason="a server of its own, with a setting: `make test-all`")
def test_open_sessions_with_another_format_are_counted_if_the_server_shows_them(
    tmp_path: Path,
) -> None:
    with MysqlServerProcess(tmp_path, settings={"performance_schema": "ON"}) as server:
        mysql = source_of(server)
        with MysqlServer.connect(settings(mysql)) as session:
            session.query("SET SESSION binlog_format = MIXED")
            session.query("SET SESSION binlog_row_image = MINIMAL")
            found = shown(gaps_of(mysql))
            reader = gaps_of(mysql, user=mysql.user, password=mysql.settings().password)
    advice = "find what sets it, and let these sessions reconnect without it"
    assert found == [
        ("R-log-statement-format", f"[S678] open sessions with binlog_format = MIXED: 1; {advice}"),
        ("row images", f"[S678] open sessions with binlog_row_image = MINIMAL: 1; {advice}"),
    ]
    # An account with no right on the table of sessions sees none.
    assert [str(gap.problem.code) for gap in reader] == ["S677"]


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_columns_that_a_row_image_leaves_out_are_named(
    source: Source, schema: str, image: str
) -> None:
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, a INT, b TEXT, c JSON)",
        f"CREATE TABLE {schema}.small (id INT PRIMARY KEY)",
    )
    options = "" if source.is_mariadb else ", GLOBAL binlog_row_value_options = PARTIAL_JSON"
    try:
        source.execute(f"SET GLOBAL binlog_row_image = {image}{options}")
        gaps = gaps_of(source, tables=[f"{schema}.*"])
    finally:
        none = options.replace("PARTIAL_JSON", "''")
        source.execute(f"SET GLOBAL binlog_row_image = FULL{none}")
    blobs = "b, c" if source.is_mariadb else "b"
    without = {"MINIMAL": "without a, b, c", "NOBLOB": f"without {blobs}"}[image]
    rules = [f"row images: {image.lower()}"]
    assert gaps[0].places == ((f"{schema}.t", without),)
    assert gaps[0].problem.what == f"rows lack columns, because binlog_row_image is {image}"
    if not source.is_mariadb:
        rules.append("row images: partial JSON")
        assert gaps[1].places == ((f"{schema}.t", ""),)
        assert gaps[1].problem.text == (
            "an update has only the changes of a JSON document, because binlog_row_value_options "
            f"is PARTIAL_JSON, and binlog_row_image {image} leaves out the document; SET PERSIST "
            "binlog_row_image = 'FULL'; sessions that are open keep the old value until they "
            "reconnect"
        )
    assert [gap.rule for gap in gaps] == rules


def test_what_an_account_does_not_see_is_told(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT)")
    (gap,) = gaps_of(source, user=source.user, password=source.settings().password)
    assert str(gap.problem) == (
        "[S677] the account does not see all tables, triggers, events of this server, so that some "
        "may be missing here; GRANT SELECT, TRIGGER, EVENT ON *.* TO "
        f"'{source.user}'@'%'"
    )
