"""The statement that is executed at the source with each heartbeat, and what `check` says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from connector.replication.server.mysql_server import MysqlServer
from connector.stream.run import run_errors
from connector.stream.run.heartbeat import HeartbeatStatement
from connector.stream.source import setup_errors
from connector.stream.source.findings import Finding, Severity
from connector.stream.source.preflight import check_heartbeat
from tests.foundation.errors.texts import text_of
from tests.integration.harness import wait_until
from tests.integration.source_server import LEAST_GRANTS

if TYPE_CHECKING:
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

NAME = "source.heartbeat_statement"


def check(source: Source, statement: str, **changes: object) -> list[Finding]:
    settings = source.settings(heartbeat_statement=statement, **changes)
    with MysqlServer.connect(settings) as server:
        return list(check_heartbeat(server, settings))


def test_the_server_says_whether_it_would_execute_the_statement(
    source: Source, schema: str
) -> None:
    source.execute(f"CREATE TABLE {schema}.beat (n INT)")
    statement = f"INSERT INTO {schema}.beat VALUES ('100%')"
    account = f"'{source.user}'@'%'"
    finding, read_only = check(source, statement)
    assert (finding.name, finding.value, finding.severity) == (NAME, "refused", Severity.WARNING)
    assert finding.problem.text == text_of(
        setup_errors.HEARTBEAT_REFUSED,
        name=NAME,
        value="refused",
        wanted="accepted",
        said=finding.problem.facts["said"],
        account=account,
    )
    assert str(finding.problem.facts["said"]).startswith("INSERT command denied to user")
    assert read_only.ok
    source.execute(f"GRANT INSERT ON {schema}.beat TO {account}")
    assert [each.ok for each in check(source, statement)] == [True, True]
    # Nothing was executed.
    assert source.execute(f"SELECT * FROM {schema}.beat") == []
    (wrong, _) = check(source, "INSRT INTO t VALUES (1)")
    assert "error in your SQL syntax" in wrong.problem.fix
    # Such a statement cannot be prepared.
    assert check(source, "BEGIN")[0].ok
    assert check(source, "") == []


def test_a_server_that_is_read_only_is_named(source: Source) -> None:
    source.execute("SET GLOBAL read_only = ON")
    try:
        _, read_only = check(source, "DO 1")
    finally:
        source.execute("SET GLOBAL read_only = OFF")
    assert (read_only.ok, read_only.severity) == (False, Severity.WARNING)
    code = setup_errors.HEARTBEAT_READ_ONLY
    assert read_only.problem.text == text_of(code, name="read_only", value="ON", wanted="OFF")


def test_a_failure_is_told_once_and_tried_again(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.beat (n INT)")
    user = source.create_account(f"{LEAST_GRANTS}, INSERT")
    settings = source.settings(
        user=user, heartbeat_statement=f"INSERT INTO {schema}.beat VALUES (1)"
    )

    def rows() -> int:
        statement.ask()
        return len(source.execute(f"SELECT * FROM {schema}.beat"))

    def failed() -> bool:
        statement.ask()
        return bool(lines)

    statement = HeartbeatStatement(settings)
    with capture_logs() as lines:
        wait_until(lambda: rows() >= 2, lambda: str(lines))
        source.execute(f"DROP TABLE {schema}.beat")
        wait_until(failed, lambda: "no failure")
        source.execute(f"CREATE TABLE {schema}.beat (n INT)")
        wait_until(lambda: rows() >= 1, lambda: str(lines))
        statement.close()
    said = text_of(run_errors.HEARTBEAT_FAILED, said=f"Table '{schema}.beat' doesn't exist")
    assert [(each["event"], each["code"]) for each in lines] == [(said, "S635")]


def test_a_statement_that_waits_ends_with_the_pipeline(source: Source) -> None:
    settings = source.settings(heartbeat_statement="SELECT SLEEP(25)", read_timeout_seconds=60)
    statement = HeartbeatStatement(settings)
    statement.ask()

    def sleeping() -> bool:
        return any(row[7] == "SELECT SLEEP(25)" for row in source.execute("SHOW FULL PROCESSLIST"))

    wait_until(sleeping, lambda: "it does not run")
    with capture_logs() as lines:
        statement.close()
    assert lines == []
    assert not statement._thread.is_alive()
