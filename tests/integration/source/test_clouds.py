"""What `check` advises on servers of cloud services.

Private servers show the signs by which a service is known: the folder of their program, their
version, and the table of settings of Amazon RDS.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import local_stack
from connector.foundation.errors.message import Message
from connector.replication.server.identity import Cloud
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.metrics.source_watch import read_source_log
from connector.stream.source import setup_errors
from connector.stream.source.findings import Severity
from connector.stream.source.preflight import check_source
from tests.integration.harness import wait_until
from tests.integration.source_server import LEAST_GRANTS, Source, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.stream.source.findings import Finding

pytestmark = pytest.mark.server

# As a service has it before anybody asks for a log.
AS_IT_COMES: dict[str, str | None] = {
    "log_bin": None,
    "skip_log_bin": "",
    "gtid_mode": None,
    "enforce_gtid_consistency": "OFF",
    "binlog_row_metadata": "MINIMAL",
}
RDS_TABLE = (
    "CREATE TABLE mysql.rds_configuration "
    "(name VARCHAR(100) PRIMARY KEY, value VARCHAR(1000), description VARCHAR(300))"
)
NO_HOURS = "INSERT INTO mysql.rds_configuration VALUES ('binlog retention hours', NULL, '')"


class Named(local_stack.MysqlServer):
    """A server whose program lies in a folder with a name that we choose."""

    def name_folder(self, name: str) -> None:
        """Let the server find itself in a folder below /rdsdbbin/."""
        folder = self.directory / "rdsdbbin" / name
        folder.mkdir(parents=True)
        options = dict(option.split("=") for option in self._installation.options if "=" in option)
        # The server follows a link to the folder itself, and then has another name.
        for part in Path(options["--basedir"]).iterdir():
            (folder / part.name).symlink_to(part)
        self._chosen["basedir"] = str(folder)


@pytest.fixture(scope="module")
def rds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    with named(tmp_path_factory.mktemp("rds"), "mysql-8.0.40.R2") as server:
        source = source_of(server)
        source.execute(RDS_TABLE, NO_HOURS)
        yield source


def named(directory: Path, folder: str) -> Named:
    """Return a server that finds itself in a folder with this name."""
    server = Named(directory, settings=AS_IT_COMES)
    server.name_folder(folder)
    return server


def check(source: Source, cloud: Cloud, user: str = "") -> dict[str, Finding]:
    """Return what is not good at a server, which must be known as one of `cloud`."""
    found = check_all(source, cloud, user)
    return {name: finding for name, finding in found.items() if not finding.ok}


def check_all(source: Source, cloud: Cloud, user: str = "") -> dict[str, Finding]:
    """Return what was checked at a server, which must be known as one of `cloud`."""
    settings = source.settings(user=user or source.user)
    with MysqlServer.connect(settings) as server:
        assert server.cloud is cloud
        return {finding.name: finding for finding in check_source(server, settings)}


def test_rds_takes_settings_from_its_parameter_group_and_logs_with_backups(rds: Source) -> None:
    found = check(rds, Cloud.RDS)
    for name, value in (("binlog_row_metadata", "FULL"), ("gtid_mode", "ON")):
        how = Message(setup_errors.RDS_PARAMETER, {"name": name, "value": value}).text
        assert found[name].problem.fix.startswith(how)
    assert not any("SET " in finding.problem.text for finding in found.values())
    assert found["log_bin"].severity is Severity.ERROR
    assert found["log_bin"].problem.fix == (
        "let Amazon RDS make automated backups of this instance (a retention period of 1 day or "
        "more)"
    )


def test_rds_says_how_long_it_keeps_the_log_only_if_the_account_may_read_it(rds: Source) -> None:
    account = rds.create_account(LEAST_GRANTS)
    hidden = check(rds, Cloud.RDS, account)["binlog retention hours"]
    assert (hidden.value, hidden.severity) == ("not readable", Severity.WARNING)
    grant, call = hidden.problem.fix.split("; ")
    assert grant == f"GRANT SELECT ON mysql.rds_configuration TO '{account}'@'%'"
    assert call == "CALL mysql.rds_set_configuration('binlog retention hours', 168)"
    rds.execute(grant, "UPDATE mysql.rds_configuration SET value = NULL")
    known = check(rds, Cloud.RDS, account)["binlog retention hours"]
    assert (known.value, known.wanted) == ("300 seconds", "24 hours (86400 s) or more")
    assert known.problem.fix.startswith(call)
    rds.execute("UPDATE mysql.rds_configuration SET value = '12'")
    assert check(rds, Cloud.RDS, account)["binlog retention hours"].value == "12 hours (43200 s)"
    rds.execute("UPDATE mysql.rds_configuration SET value = '72'")
    enough = check_all(rds, Cloud.RDS, account)["binlog retention hours"]
    assert (enough.value, enough.ok) == ("72 hours (259200 s)", True)


def test_a_reader_of_aurora_is_no_source_and_the_writer_has_a_log_if_it_is_told(
    tmp_path: Path,
) -> None:
    server = named(tmp_path, "oscar-8.0.mysql_aurora.3.08.0")
    with server:
        source = source_of(server)
        writer = check(source, Cloud.AURORA)
        # A server that only reads cannot repair what a kill leaves.
        source.execute("SET GLOBAL innodb_fast_shutdown = 0", "SHUTDOWN")
        wait_until(lambda: "Shutdown complete" in server.log.read_text(), server.log.read_text)
    assert "innodb_read_only" not in writer
    assert writer["log_bin"].problem.fix == (
        "in the parameter group of the DB cluster, set binlog_format to ROW, and restart the writer"
    )
    assert writer["binlog_row_metadata"].problem.fix.startswith(
        "in the parameter group of the DB cluster, set binlog_row_metadata to FULL (if it is "
        "static, the writer has to be restarted)"
    )
    server._chosen["innodb_read_only"] = "ON"
    with server:
        reader = check(source, Cloud.AURORA)["innodb_read_only"]
    assert reader.severity is Severity.ERROR
    assert reader.problem.text == (
        "innodb_read_only is ON, wanted OFF; this instance is a reader, and only the writer of the "
        "cluster has a binary log: set source.host to the cluster endpoint"
    )


def test_cloud_sql_takes_flags_and_a_patch_turns_the_log_on(tmp_path: Path) -> None:
    settings = {
        "version": "11.8.6-MariaDB-google",
        "log_bin": None,
        "binlog_row_metadata": "NO_LOG",
    }
    with local_stack.MariadbServer(tmp_path, settings=settings) as server:
        found = check(source_of(server), Cloud.CLOUD_SQL)
    assert found["log_bin"].problem.fix == (
        "gcloud sql instances patch INSTANCE --enable-bin-log (the instance restarts)"
    )
    assert found["binlog_row_metadata"].problem.fix.startswith(
        "gcloud sql instances patch INSTANCE --database-flags=binlog_row_metadata=FULL (name all "
        "flags of the instance there: others are removed)"
    )


def test_azure_takes_parameters_and_purges_at_once_by_default(tmp_path: Path) -> None:
    settings = {
        "version": "11.8.6-MariaDB-azure",
        "binlog_expire_logs_seconds": "0",
    }
    with local_stack.MariadbServer(tmp_path, settings=settings) as server:
        source = source_of(server)
        found = check(source, Cloud.AZURE)["binlog_expire_logs_seconds"]
        with MysqlServer.connect(source.settings()) as session:
            assert read_source_log(session).retention_seconds == 300
        source.execute("SET GLOBAL binlog_expire_logs_seconds = 604800")
        assert "binlog_expire_logs_seconds" not in check(source, Cloud.AZURE)
    assert found.value == "300 seconds"
    assert found.problem.fix.startswith(
        "az mysql flexible-server parameter set --resource-group GROUP --server-name SERVER --name "
        "binlog_expire_logs_seconds --value 604800"
    )


def test_a_server_without_such_signs_is_of_no_service(source: Source) -> None:
    with MysqlServer.connect(source.settings()) as server:
        assert server.cloud is None
