"""What gh-ost and pt-online-schema-change do to a followed table leaves its topic equal to it.

The tools are played here: their statements, in their order, beside a writer that goes on. What
gh-ost reads from the log and applies to its copy is here made up for under its last lock.
"""

from __future__ import annotations

import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pymysql.err import ProgrammingError

from local_stack import connect
from tests.integration.schema.anchored_stream import AnchoredStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.foundation.kafka_records import Record
    from local_stack import Endpoint, Server

pytestmark = pytest.mark.server

ROWS = 300
NO_SUCH_TABLE = 1146
ADDED = "ADD COLUMN added INT NOT NULL DEFAULT 7, ADD COLUMN note VARCHAR(9) DEFAULT 'new'"


class Source:
    """A server with a table `shop.t`, and a writer that changes it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        # Held by whoever must not be disturbed: the server's own locks let the writer slip in
        # where a waiting rename has another lock to take first.
        self.gate = threading.Lock()

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with connect(self.endpoint, "shop") as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
        return rows

    @contextmanager
    def writer(self) -> Iterator[None]:
        """Let rows be inserted, updated and deleted meanwhile."""
        stop = threading.Event()

        def write() -> int:
            with connect(self.endpoint, "shop") as connection, connection.cursor() as cursor:
                for n in itertools.count():
                    key = n * 7 % ROWS
                    statements = [
                        f"DELETE FROM t WHERE id = {key}",
                        f"INSERT INTO t (id, v) VALUES ({key}, {n})",
                        f"UPDATE t SET v = v + 1 WHERE id = {key + 1}",
                    ]
                    for statement in statements + statements[:1] * (n % 5 == 0):
                        # Between two steps there is no such table.
                        while not self._executed(cursor, statement):
                            pass
                    if stop.is_set():
                        break
            return n

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            try:
                yield
            finally:
                stop.set()
            assert writing.result() > 0

    def _executed(self, cursor: Any, statement: str) -> bool:
        try:
            with self.gate:
                cursor.execute(statement)
        except ProgrammingError as error:
            if error.args[0] != NO_SUCH_TABLE:
                raise
            return False
        return True


@pytest.fixture(params=["mysql_server", "mariadb_server"], ids=["mysql", "mariadb"])
def source(request: pytest.FixtureRequest) -> Iterator[Source]:
    server: Server = request.getfixturevalue(request.param)
    with connect(server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        source = Source(server.endpoint)
        source.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        yield source
        cursor.execute("DROP DATABASE shop")


def fill(source: Source) -> None:
    values = ", ".join(f"({n}, {n})" for n in range(ROWS))
    source.execute(f"INSERT INTO t VALUES {values}")


def percona(source: Source, alter: str) -> None:
    """Do as pt-online-schema-change does."""
    source.execute(
        "CREATE TABLE `shop`.`_t_new` (`id` int NOT NULL, `v` int, PRIMARY KEY (`id`))",
        f"ALTER TABLE `shop`.`_t_new` {alter}",
        "CREATE TRIGGER `pt_osc_shop_t_del` AFTER DELETE ON `shop`.`t` FOR EACH ROW "
        "DELETE IGNORE FROM `shop`.`_t_new` WHERE `shop`.`_t_new`.`id` <=> OLD.`id`",
        "CREATE TRIGGER `pt_osc_shop_t_upd` AFTER UPDATE ON `shop`.`t` FOR EACH ROW BEGIN "
        "DELETE IGNORE FROM `shop`.`_t_new` WHERE !(OLD.`id` <=> NEW.`id`) AND "
        "`shop`.`_t_new`.`id` <=> OLD.`id`; REPLACE INTO `shop`.`_t_new` (`id`, `v`) "
        "VALUES (NEW.`id`, NEW.`v`); END",
        "CREATE TRIGGER `pt_osc_shop_t_ins` AFTER INSERT ON `shop`.`t` FOR EACH ROW "
        "REPLACE INTO `shop`.`_t_new` (`id`, `v`) VALUES (NEW.`id`, NEW.`v`)",
    )
    for start in range(0, ROWS + 10, 50):
        source.execute(
            "INSERT LOW_PRIORITY IGNORE INTO `shop`.`_t_new` (`id`, `v`) SELECT `id`, `v` FROM "
            f"`shop`.`t` FORCE INDEX(`PRIMARY`) WHERE id >= {start} AND id < {start + 50} "
            "LOCK IN SHARE MODE"
        )
    source.execute(
        "RENAME TABLE `shop`.`t` TO `shop`.`_t_old`, `shop`.`_t_new` TO `shop`.`t`",
        "SET foreign_key_checks=0",
        "DROP TABLE IF EXISTS `shop`.`_t_old`",
        "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_del`",
        "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_upd`",
        "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_ins`",
    )


def ghost(source: Source, alter: str, *, two_steps: bool) -> None:
    """Do as gh-ost does."""
    source.execute(
        "create /* gh-ost */ table `shop`.`_t_ghc` (id bigint auto_increment primary key, "
        "hint varchar(64), value varchar(255))",
        "create /* gh-ost */ table `shop`.`_t_gho` like `shop`.`t`",
        f"alter /* gh-ost */ table `shop`.`_t_gho` {alter}",
    )

    for start in range(0, ROWS + 10, 50):
        source.execute(
            "insert /* gh-ost */ ignore into `shop`.`_t_gho` (`id`, `v`) (select `id`, `v` from "
            f"`shop`.`t` force index (`PRIMARY`) where id >= {start} and id < {start + 50} "
            "lock in share mode)"
        )
        source.execute("insert /* gh-ost */ into `shop`.`_t_ghc` (hint) values ('heartbeat')")
    if two_steps:
        with (
            source.gate,
            connect(source.endpoint, "shop") as holder,
            holder.cursor() as cursor,
        ):
            cursor.execute("lock /* gh-ost */ tables `shop`.`t` write, `shop`.`_t_gho` write")
            _apply_under_lock(cursor)
            cursor.execute("alter /* gh-ost */ table `shop`.`t` rename `_t_del`")
            cursor.execute("alter /* gh-ost */ table `shop`.`_t_gho` rename `t`")
            cursor.execute("unlock tables")
    else:
        with source.gate:
            _cut_over_at_once(source)
    source.execute("drop /* gh-ost */ table if exists `shop`.`_t_ghc`")
    source.execute("drop /* gh-ost */ table if exists `shop`.`_t_del`")


def _apply_under_lock(cursor: Any) -> None:
    """Make the copy equal, as what the log has up to the lock does."""
    cursor.execute("delete from `shop`.`_t_gho`")
    cursor.execute("insert into `shop`.`_t_gho` (id, v) select id, v from `shop`.`t`")


def _cut_over_at_once(source: Source) -> None:
    """Rename behind a lock that another session gives up when all has been applied."""
    source.execute(
        "create /* gh-ost */ table `shop`.`_t_del` (id int auto_increment primary key) "
        "comment='ghost-cut-over-sentry'"
    )
    with connect(source.endpoint, "shop") as holder, holder.cursor() as cursor:
        cursor.execute("lock /* gh-ost */ tables `shop`.`t` write, `shop`.`_t_del` write")
        cursor.execute("select id, v from `shop`.`t`")
        values = ", ".join(f"({key}, {v})" for key, v in cursor.fetchall())
        source.execute(
            "delete from `shop`.`_t_gho`", f"insert into `shop`.`_t_gho` (id, v) values {values}"
        )
        rename = threading.Thread(
            target=source.execute,
            args=("rename /* gh-ost */ table shop.t to shop._t_del, shop._t_gho to shop.t",),
        )
        rename.start()
        while not source.execute(
            "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'rename%' AND "
            "state LIKE 'Waiting for table metadata lock'"
        ):
            pass
        cursor.execute("drop /* gh-ost */ table if exists `shop`.`_t_del`")
        cursor.execute("unlock /* gh-ost */ tables")
        rename.join()


def folded(records: list[Record]) -> dict[int, dict[str, Any]]:
    """Return the rows that a consumer of the topics has, completed as a mirror completes them."""
    rows: dict[int, dict[str, Any]] = {}
    defaults: dict[str, Any] = {}
    for record in records:
        if record.value is None:
            continue
        value = json.loads(record.value)
        if record.topic == "p.schema" and value["table"] == "t":
            for column in value["columns"]:
                assert "added_default_unknown" not in column
                if "added_default" in column:
                    defaults[column["name"]] = column["added_default"]
        elif record.topic == "p.shop.t":
            assert value["op"] != "t"
            if value["op"] == "d":
                del rows[value["before"]["id"]]
            else:
                assert value["op"] != "c" or value["after"]["id"] not in rows
                rows[value["after"]["id"]] = value["after"]
    return {key: defaults | row for key, row in rows.items()}


TOOLS: dict[str, Callable[[Source, str], None]] = {
    "pt-osc": percona,
    "gh-ost": lambda source, alter: ghost(source, alter, two_steps=False),
    "gh-ost-two-step": lambda source, alter: ghost(source, alter, two_steps=True),
}


@pytest.mark.parametrize("tool", list(TOOLS))
def test_a_table_that_is_altered_online_goes_on_under_its_topic(source: Source, tool: str) -> None:
    stream = AnchoredStream(source.endpoint, "shop.*", keeps_rows=True)
    fill(source)
    with source.writer():
        TOOLS[tool](source, ADDED)
    source.execute(f"INSERT INTO t (id, v) VALUES ({ROWS * 2}, 1)")
    # Each run ends in the middle, and goes on from what it committed.
    events = 40
    while stream.run(events) or events == 40:
        events += 1000
    stream.run()
    columns = ("id", "v", "added", "note")
    found = source.execute(f"SELECT {', '.join(columns)} FROM t")
    assert folded(stream.records) == {row[0]: dict(zip(columns, row, strict=True)) for row in found}
    assert stream.resyncs == []
    assert {r.topic for r in stream.records} == {"p", "p.schema", "p.shop.t"}
    assert stream.progress is not None
    assert stream.progress.online_changes == {}


AWAY = "ALTER TABLE t RENAME _t_del"
BACK = "ALTER TABLE _t_gho RENAME t"
GHOST_BY_HAND = (
    "CREATE TABLE _t_gho LIKE t",
    "CREATE TABLE _t_ghc (id INT PRIMARY KEY)",
    "ALTER TABLE _t_gho ADD n INT DEFAULT 5",
    "INSERT INTO _t_gho (id, v) SELECT id, v FROM t WHERE id <> 2",
    "INSERT INTO _t_gho (id, v) VALUES (77, 77)",
)
PERCONA_BY_HAND = (
    "CREATE TABLE _t_new LIKE t",
    "CREATE TRIGGER pt_osc_shop_t_ins AFTER INSERT ON t FOR EACH ROW SET @a = 1",
    "INSERT INTO _t_new SELECT * FROM t",
    "UPDATE _t_new SET v = 9 WHERE id = 2",
    "DELETE FROM _t_new WHERE id = 1",
)
SWAPS = {
    "no sign of a tool": (
        "_t_new",
        "CREATE TABLE _t_new LIKE t",
        "INSERT INTO _t_new SELECT * FROM t WHERE id = 2",
        "RENAME TABLE t TO _t_old, _t_new TO t",
    ),
    "gh-ost": ("_t_gho", *GHOST_BY_HAND, "RENAME TABLE t TO _t_del, _t_gho TO t"),
    "gh-ost in two steps": ("_t_gho", *GHOST_BY_HAND, AWAY, BACK),
    "gh-ost, the old table dropped": ("_t_gho", *GHOST_BY_HAND, AWAY, "DROP TABLE _t_del", BACK),
    "gh-ost and back": (
        "_t_del",
        *GHOST_BY_HAND,
        "RENAME TABLE t TO _t_del, _t_gho TO t",
        "UPDATE _t_del SET v = 10 WHERE id = 1",
        "RENAME TABLE t TO _t_gho, _t_del TO t",
    ),
    "in a cycle": ("_t_gho", *GHOST_BY_HAND, "RENAME TABLE t TO x, _t_gho TO t, x TO _t_gho"),
    "triggers of pt-osc": ("_t_new", *PERCONA_BY_HAND, "RENAME TABLE t TO _t_old, _t_new TO t"),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_a_table_that_is_swapped_in_by_hand_is_copied(source: Source, swap: str) -> None:
    stream = AnchoredStream(source.endpoint, "shop.*")
    origin, *statements = SWAPS[swap]
    source.execute("INSERT INTO t VALUES (1, 1), (2, 2)", *statements)
    stream.run()
    assert stream.resyncs[-1] == ("shop", "t", f"a rename of shop.{origin} to it")


@pytest.mark.parametrize(
    ("alter", "why"),
    [
        ("MODIFY v BIGINT, ADD INDEX (v)", ""),
        ("MODIFY v VARCHAR(20)", "MODIFY v"),
        ("MODIFY v INT NOT NULL DEFAULT 1", "MODIFY v"),
        ("ADD CONSTRAINT few CHECK (v < 10)", "ADD CONSTRAINT few"),
    ],
)
@pytest.mark.parametrize(("tool", "copy"), [("pt-osc", "_t_new"), ("gh-ost", "_t_gho")])
def test_a_table_whose_rows_a_tool_converts_is_copied(
    source: Source, tool: str, copy: str, alter: str, why: str
) -> None:
    stream = AnchoredStream(source.endpoint, "shop.*", keeps_rows=True)
    fill(source)
    if "CHECK" in alter and tool == "gh-ost":
        # What is played of it has no IGNORE in its last step.
        source.execute("DELETE FROM t WHERE v >= 10")
    TOOLS[tool](source, alter)
    stream.run()
    reason = f"ALTER TABLE … {why} of shop.{copy}, which took its place"
    assert stream.resyncs == ([("shop", "t", reason)] if why else [])
