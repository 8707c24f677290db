from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import local_stack
from connector.foundation.errors import SourceRefused
from connector.foundation.errors.message import Message
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.metrics.source_watch import read_source_log
from connector.stream.source import setup_errors
from connector.stream.source.findings import Finding, Severity
from connector.stream.source.preflight import check_source, require
from tests.foundation.errors.texts import text_of
from tests.integration.source_server import LEAST_GRANTS, Source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode

pytestmark = pytest.mark.server

# What each product can be told wrongly, and what the pipeline makes of it.
MYSQL_WRONG = {
    "binlog_format": "MIXED",
    "binlog_row_image": "MINIMAL",
    "binlog_row_metadata": "MINIMAL",
    "binlog_checksum": "NONE",
    "binlog_expire_logs_seconds": "3600",
    "gtid_mode": "OFF",
    "enforce_gtid_consistency": "OFF",
}
MARIADB_WRONG = {
    "binlog_format": "MIXED",
    "binlog_row_image": "MINIMAL",
    "binlog_row_metadata": "NO_LOG",
    "binlog_checksum": "NONE",
    "binlog_expire_logs_seconds": "3600",
    "gtid_strict_mode": "OFF",
    "mysql56_temporal_format": "OFF",
}
WARNINGS = {
    "binlog_row_metadata",
    "binlog_checksum",
    "binlog_expire_logs_seconds",
    "gtid_mode",
    "gtid_strict_mode",
    "mysql56_temporal_format",
    "enforce_gtid_consistency",
}


@pytest.fixture(scope="module")
def wrong_mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    directory = tmp_path_factory.mktemp("wrong-mysql")
    with local_stack.MysqlServer(directory, settings=MYSQL_WRONG) as server:
        yield source_of(server)


@pytest.fixture(scope="module")
def wrong_mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    directory = tmp_path_factory.mktemp("wrong-mariadb")
    with local_stack.MariadbServer(directory, settings=MARIADB_WRONG) as server:
        yield source_of(server)


def check(source: Source, **changes: object) -> dict[str, Finding]:
    settings = source.settings(**changes)
    with MysqlServer.connect(settings) as server:
        return {finding.name: finding for finding in check_source(server, settings)}


def variables_shown(server: MysqlServer) -> int:
    (row,) = server.query("SHOW SESSION STATUS LIKE 'Com_show_variables'")
    return int(str(row["Value"]))


def test_one_query_reads_the_variables_of_all_checks(source: Source) -> None:
    settings = source.settings()
    with MysqlServer.connect(settings) as server:
        # The service that runs the server is asked for once in a session.
        assert server.cloud is None
        before = variables_shown(server)
        assert check_source(server, settings)
        assert variables_shown(server) == before + 1
        assert read_source_log(server).files
        assert variables_shown(server) == before + 2


def bad(findings: dict[str, Finding]) -> dict[str, Severity]:
    return {name: finding.severity for name, finding in findings.items() if not finding.ok}


def test_a_source_that_is_set_up_has_nothing_to_say(source: Source) -> None:
    findings = check(source)
    assert bad(findings) == {}
    require(list(findings.values()))
    assert list(findings)[:6] == [
        "server_id",
        "source.server_id",
        "log_bin",
        "binlog_format",
        "binlog_row_image",
        "binlog_row_metadata",
    ]


@pytest.mark.parametrize(
    ("wrong", "settings"), [("wrong_mysql", MYSQL_WRONG), ("wrong_mariadb", MARIADB_WRONG)]
)
def test_each_wrong_setting_is_found_and_its_fix_fixes_it(
    request: pytest.FixtureRequest, wrong: str, settings: dict[str, str]
) -> None:
    source: Source = request.getfixturevalue(wrong)
    findings = check(source)
    assert bad(findings) == {
        name: Severity.WARNING if name in WARNINGS else Severity.ERROR for name in settings
    }
    with pytest.raises(SourceRefused) as caught:
        require(list(findings.values()), source.name)
    # A code in brackets, the name, and the rest.
    named = [line.split()[1] for line in caught.value.text.splitlines()[1:]]
    assert named == [name for name in findings if name in settings and name not in WARNINGS]
    for finding in findings.values():
        if not finding.ok:
            # The statements of a fix end where its explanation begins.
            statements = finding.problem.fix.split(", and ")[0].split("; ")
            source.execute(*(s for s in statements if s.startswith("SET ")))
    assert bad(check(source)) == {}


def test_errors_are_listed_with_what_is_what_is_wanted_and_what_fixes_it() -> None:
    findings = [
        found("log_bin", "ON", "ON", Severity.ERROR),
        found("binlog_row_image", "MINIMAL", "FULL", Severity.ERROR),
        found("gtid_mode", "OFF", "ON", Severity.WARNING),
    ]
    with pytest.raises(SourceRefused) as caught:
        require(findings, "source db:3306")
    assert caught.value.text == (
        "source db:3306: the server cannot be followed as it is set up:\n"
        "  [S611] binlog_row_image is MINIMAL, wanted FULL; SET PERSIST binlog_row_image = 'FULL'"
    )
    assert caught.value.code is setup_errors.NOT_SET_UP


def found(name: str, value: str, wanted: str, severity: Severity) -> Finding:
    how = f"SET PERSIST {name} = '{wanted}'"
    facts = {"name": name, "value": value, "wanted": wanted, "how": how}
    problem = Message(setup_errors.SETTING, facts)
    return Finding(name, value, wanted, value == wanted, problem, severity)


def test_a_mariadb_setting_has_to_be_in_its_option_file_as_well(mariadb: Source) -> None:
    assert check(mariadb)["binlog_format"].problem.text == (
        "binlog_format is ROW, wanted ROW; SET GLOBAL binlog_format = 'ROW', and binlog_format = "
        "ROW in the server's option file; sessions that are open keep the old format until they "
        "reconnect"
    )


def test_the_servers_own_id_is_not_ours_to_take(source: Source) -> None:
    finding = check(source, server_id=1)["source.server_id"]
    assert not finding.ok
    assert finding.severity is Severity.ERROR
    assert finding.problem.text == (
        "source.server_id is 1, wanted any number but the server's own, 1; give "
        "source.server_id another "
        "number, unique among all replicas of this server"
    )


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ("disabled", setup_errors.NOT_ENCRYPTED),
        ("preferred", setup_errors.PREFERRED_TLS),
        ("required", setup_errors.UNVERIFIED_TLS),
        ("verify_ca", None),
        ("verify_identity", None),
    ],
)
def test_what_a_mode_of_tls_does_not_protect_is_said(
    mysql: Source, mode: str, code: ErrorCode | None
) -> None:
    with MysqlServer.connect(mysql.settings()) as server:
        settings = mysql.settings(host="db1", tls={"mode": mode})
        findings = {finding.name: finding for finding in check_source(server, settings)}
    finding = findings["source.tls.mode"]
    assert finding.ok == (code is None)
    assert finding.severity is Severity.WARNING
    if code is not None:
        assert finding.problem.text == text_of(code, value=mode, host="db1")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_source_on_the_same_machine_needs_no_certificate(mysql: Source, host: str) -> None:
    with MysqlServer.connect(mysql.settings()) as server:
        findings = check_source(server, mysql.settings(host=host))
    assert "source.tls.mode" not in {finding.name for finding in findings}


@pytest.mark.parametrize(
    ("grants", "missing"),
    [
        ("", ["grant REPLICATION SLAVE", "grant REPLICATION CLIENT"]),
        ("REPLICATION SLAVE", ["grant REPLICATION CLIENT"]),
        ("REPLICATION CLIENT", ["grant REPLICATION SLAVE"]),
        (LEAST_GRANTS, []),
        ("ALL PRIVILEGES", []),
        ("SELECT, REPLICATION SLAVE, REPLICATION CLIENT", []),
    ],
)
def test_a_missing_grant_is_a_finding_and_its_fix_fixes_it(
    source: Source, grants: str, missing: list[str]
) -> None:
    user = source.create_account(grants)
    findings = check(source, user=user)
    refused = [name for name in findings if name.startswith("grant ") and not findings[name].ok]
    assert refused == missing
    for name in missing:
        finding = findings[name]
        statement = f"GRANT {name.removeprefix('grant ')} ON *.* TO '{user}'@'%'"
        assert finding.problem.text == f"{name} is missing, wanted granted; {statement}"
        source.execute(statement)
    assert all(f.ok for f in check(source, user=user).values() if f.severity is Severity.ERROR)


def test_copies_at_the_start_need_a_grant_that_check_asks_for(source: Source) -> None:
    user = source.create_account(LEAST_GRANTS)
    wanted = {"user": user, "tables": ["shop.*", "crm.orders"]}
    assert "grant SELECT" not in check(source, **wanted)
    finding = check(source, start="snapshot", **wanted)["grant SELECT"]
    assert finding.severity is Severity.ERROR
    assert finding.problem.text == (
        "grant SELECT is missing, wanted granted; "
        f"GRANT SELECT ON shop.* TO '{user}'@'%'; GRANT SELECT ON crm.orders TO '{user}'@'%'; "
        "or set source.start to where the stream begins without copies of the tables"
    )
    source.execute(f"GRANT SELECT ON shop.* TO '{user}'@'%'")
    assert check(source, start="snapshot", **wanted)["grant SELECT"].ok


def test_a_right_to_anything_in_a_table_shows_it(source: Source) -> None:
    user = source.create_account(LEAST_GRANTS)
    source.execute(
        "CREATE DATABASE IF NOT EXISTS preflight",
        "CREATE TABLE IF NOT EXISTS preflight.t (id INT PRIMARY KEY)",
        f"GRANT INSERT ON preflight.t TO '{user}'@'%'",
    )
    assert check(source, user=user, start="snapshot")["grant SELECT"].ok


def test_grants_of_an_active_role_count(source: Source) -> None:
    user = source.create_account()
    role = f"r{user[1:]}"
    to = "FOR" if source.is_mariadb else "TO"
    source.execute(
        f"CREATE ROLE {role}",
        f"GRANT {LEAST_GRANTS} ON *.* TO {role}",
        f"GRANT {role} TO {user}",
        f"SET DEFAULT ROLE {role} {to} {user}",
    )
    findings = check(source, user=user)
    assert findings["grant REPLICATION SLAVE"].ok
    assert findings["grant REPLICATION CLIENT"].ok


def test_databases_that_stay_out_of_the_log_are_named(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = {"binlog_ignore_db": "scratch"}
    with local_stack.MysqlServer(tmp_path_factory.mktemp("ignore"), settings=settings) as server:
        findings = check(source_of(server))
    assert bad(findings) == {"binlog_ignore_db": Severity.WARNING}
    assert findings["binlog_ignore_db"].value == "scratch"


def test_a_server_without_a_binary_log_is_told_to_have_one(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = {"log_bin": None, "skip_log_bin": "", "gtid_mode": None}
    with local_stack.MysqlServer(tmp_path_factory.mktemp("no-log"), settings=settings) as server:
        findings = check(source_of(server))
    assert findings["log_bin"].problem.text == (
        "log_bin is OFF, wanted ON; start the server with log_bin = binlog in its option file"
    )
    assert findings["log_bin"].severity is Severity.ERROR
    assert not findings["log_bin"].ok


def test_a_replica_that_does_not_log_what_it_receives_is_refused(tmp_path: Path) -> None:
    off: dict[str, str | None] = {"log_slave_updates": "OFF", "read_only": "ON"}
    with local_stack.MysqlServer(tmp_path / "replica", settings=off) as server:
        source = source_of(server)
        finding = check(source)["log_replica_updates"]
        assert finding.problem.text == (
            "log_replica_updates is OFF, wanted ON; start the server with log_replica_updates = ON "
            "in its option file: otherwise its log does not have what it receives from its source"
        )
        assert not finding.ok
        assert finding.severity is Severity.ERROR
        source.execute("SET GLOBAL read_only = OFF")
        assert "log_replica_updates" not in check(source)
