"""What `rules` says of statements of a grammar, beside what servers do with them.

The grammar is that of `make ddl-torture`. Each statement is played alone, in a session of a format
of its own, and the log and the warnings must be those that the rules predict.
`make logging-rules SESSIONS=5000` plays more of them; SEED=n plays others.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Final

import pymysql
import pytest

from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.foundation.errors import ConfigError
from connector.replication.server.addresses import source_settings
from connector.rules.logging_format import LoggedAs
from connector.rules.procedure_calls import possible_decisions
from connector.rules.server import BinlogFormat, SessionState
from connector.rules.unsafe_statements import UnsafeReason
from connector.stream.source.select_session import SelectSession
from connector.stream.source.statement_tables import StatementTables, unrolled
from local_stack import connect
from tests.binlog.source_log import SourceLog
from tests.chaos.ddl.catalogue import catalogue_of
from tests.chaos.ddl.row_grammar import RowGrammar
from tests.chaos.ddl.sessions import Settings
from tests.chaos.ddl.table_grammar import TableGrammar
from tests.length import length

if TYPE_CHECKING:
    from connector.rules.logging_format import Decision
    from local_stack import Server

pytestmark = pytest.mark.server

SEED = os.environ.get("SEED", "15")
STATEMENTS = int(os.environ.get("SESSIONS") or length(short=30, full=2_000))
DATABASE: Final = "rules_grammar"
SERVERS: Final = ("mysql_server", "mysql_9", "mariadb_server", "mysql_5_7", "mariadb_10_5")
_UNSAFE: Final = 1592
_TEXTS_OF_TRANSACTIONS: Final = ("BEGIN", "COMMIT", "ROLLBACK")
# The tables, so that each kind of statement finds one; the rest is made by the grammar.
CREATION: Final = (
    "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, tick INT NOT NULL DEFAULT 0, a INT)",
    "CREATE TABLE u (id INT PRIMARY KEY, tick INT NOT NULL DEFAULT 0, a INT UNIQUE)",
    "CREATE VIEW vw AS SELECT id, tick FROM t",
    "CREATE TABLE w (id INT PRIMARY KEY, tick INT, u INT, FOREIGN KEY (u) REFERENCES u (id))",
    "CREATE TRIGGER added AFTER INSERT ON w FOR EACH ROW INSERT INTO t (tick) VALUES (NEW.tick)",
    "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)",
    "INSERT INTO u VALUES (1, 1, 1), (2, 2, 2)",
)


class Proof:
    """Plays on one server, and counts; `differences` are statements of which `rules` is wrong."""

    def __init__(self, server: Server, random: Random) -> None:
        self.differences: list[str] = []
        self.told: Counter[str] = Counter()
        self._server = server
        self._random = random
        with closing(connect(server.endpoint)) as connection, connection.cursor() as cursor:
            cursor.execute("SET GLOBAL log_bin_trust_function_creators = 1")
            for name in (DATABASE, f"{DATABASE}_away"):
                cursor.execute(f"DROP DATABASE IF EXISTS {name}")
                cursor.execute(f"CREATE DATABASE {name}")
            cursor.execute(f"USE {DATABASE}")
            for statement in CREATION:
                cursor.execute(statement)
        quoted = Settings().quoted
        is_mariadb = type(server).__name__ == "MariadbServer"
        self._is_enforced = not is_mariadb
        self._rows = RowGrammar(random, quoted)
        self._tables = TableGrammar(
            random, quoted, database=DATABASE, is_mariadb=is_mariadb, is_keyed=True
        )

    def play(self, count: int) -> None:
        """Play about `count` statements."""
        endpoint = self._server.endpoint
        address = f"{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}"
        with SelectSession(source_settings(f"mysql://{address}")) as session:
            while self.told.total() < count:
                for text in self._statements():
                    self._compare(session, text)

    def _statements(self) -> list[str]:
        with (
            closing(connect(self._server.endpoint, DATABASE)) as connection,
            connection.cursor() as cursor,
        ):
            catalogue = catalogue_of(cursor, DATABASE)
        if self._random.random() < 0.8:
            return [self._rows.statement(catalogue)]
        made = self._tables.statements(catalogue)
        # What a session does with its temporary tables is proved by the random sessions.
        return made[:1] if made and made[0].startswith("CREATE TEMPORARY") else made

    def _compare(self, session: SelectSession, text: str) -> None:
        binlog_format = self._random.choice([*BinlogFormat])
        state = SessionState(binlog_format, enforce_gtid_consistency=self._is_enforced)
        tables = StatementTables(session, DATABASE)
        decision = None
        try:
            whole = unrolled(text, tables)
            ((decision,),) = possible_decisions(whole, state, tables.server)
        except ConfigError as error:
            self.told[f"not told: {error.code}"] += 1
        with closing(connect(self._server.endpoint, DATABASE)) as connection:
            log = SourceLog(connection)
            log.execute(f"SET SESSION binlog_format = {binlog_format.value}")
            try:
                with connection.cursor() as cursor:
                    changed = cursor.execute(text)
                    cursor.fetchall()
            except pymysql.err.MySQLError as error:
                if decision is None or decision.refusal is None:
                    self.told["refused"] += 1
                elif decision.refusal.number != error.args[0]:
                    self.differences.append(f"{binlog_format.value} {text}: {decision}, {error}")
                return
            warnings = log.execute("SHOW WARNINGS")
            logged = _logged(log)
        if decision is None:
            return
        self.told[decision.logged_as.value] += 1
        reasons = frozenset(
            reason
            for _, number, said in warnings
            if number == _UNSAFE
            for reason in UnsafeReason
            if reason.value in str(said)
        )
        if not changed and text.startswith("CREATE TABLE") and logged is LoggedAs.STATEMENT:
            # It has no row: nothing follows the text.
            return
        if not _fits(decision, logged, reasons, changed):
            names = sorted(reason.name for reason in decision.reasons)
            found = sorted(reason.name for reason in reasons)
            self.differences.append(
                f"{binlog_format.value} {text}\n  told {decision.logged_as.value} {decision.rule} "
                f"{names} {decision.refusal}\n  found {logged.value} {found}"
            )


def _logged(log: SourceLog) -> LoggedAs:
    bodies = [event.body for event in log.events()]
    if any(isinstance(body, RowsEvent) for body in bodies):
        return LoggedAs.ROW
    is_text = any(
        isinstance(body, QueryEvent) and not body.query.startswith(_TEXTS_OF_TRANSACTIONS)
        for body in bodies
    )
    return LoggedAs.STATEMENT if is_text else LoggedAs.NOTHING


def _fits(
    decision: Decision, logged: LoggedAs, reasons: frozenset[UnsafeReason], changed: int
) -> bool:
    """Whether the log is the predicted one; what changes nothing can leave nothing."""
    if decision.refusal is not None:
        return False
    if logged is LoggedAs.NOTHING:
        return decision.logged_as is LoggedAs.NOTHING or not changed
    return logged is decision.logged_as and reasons == decision.warnings


@pytest.mark.parametrize("name", SERVERS[: length(short=3, full=5)])
def test_rules_says_how_the_statements_of_the_grammar_are_logged(
    name: str, request: pytest.FixtureRequest
) -> None:
    proof = Proof(request.getfixturevalue(name), Random(f"{SEED}-{name}"))
    proof.play(STATEMENTS)
    assert not proof.differences, "\n".join(
        [f"{len(proof.differences)} of {proof.told}", *proof.differences[:10]]
    )
    assert proof.told["row"]
    assert proof.told["statement"]
