"""What the pipeline needs of its source and its sink, shown with the statement that fixes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from rich.table import Table
from rich.text import Text

from connector.changes.table_filter import SYSTEM_DATABASES, TableFilter
from connector.errors import ConfigError, ConnectorError
from connector.sink.connection import client_settings, connector_error
from connector.sink.limits import check_limits
from connector.source.finding import Finding, Severity
from connector.source.hosts import address_of, candidates
from connector.source.mysql_server import MysqlServer
from connector.source.preflight import check_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from connector.config import KafkaSettings, Settings, SourceSettings

_MARKS = {
    Severity.ERROR: Text("missing", style="bold red"),
    Severity.WARNING: Text("advice", style="yellow"),
}
_GOOD = Text("ok", style="green")
_TABLES = """
    SELECT table_schema AS db, table_name AS name FROM information_schema.tables
    WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
"""


def check_pipeline(settings: Settings, console: Console) -> bool:
    """Print every finding and return whether `run` would start, on any of its sources.

    Raises TransientError or DefiniteError when the only source does not let us in.
    """
    sources = candidates(settings.source)
    if len(sources) == 1:
        good = [_check_source(settings.source, console)]
    else:
        good = [_check_one_of(source, console) for source in sources]
    good.append(_check_kafka(settings.kafka, console))
    if not all(good):
        console.print("not ready", style="bold red")
        return False
    console.print("ready", style="bold green")
    return True


def _check_one_of(settings: SourceSettings, console: Console) -> bool:
    """Do as `_check_source`, but print why a server does not let us in: there are others."""
    try:
        return _check_source(settings, console)
    except ConfigError:
        raise
    except ConnectorError as error:
        console.print(str(error), markup=False, style="red", soft_wrap=True)
        return False


def _check_source(settings: SourceSettings, console: Console) -> bool:
    """Print every finding of one server and return whether it can be read."""
    with MysqlServer.connect(settings) as server:
        identity = server.identity
        findings = [*check_source(server, settings), *_check_tables(server, settings)]
    console.print(
        f"Source {address_of(settings)}: {identity.flavour} {identity.version}", markup=False
    )
    console.print(_table(findings))
    for finding in findings:
        if not finding.ok:
            console.print(f"{finding.name}:", style="bold", end=" ")
            console.print(finding.fix, markup=False, soft_wrap=True)
    return all(finding.ok or finding.severity is not Severity.ERROR for finding in findings)


def _check_tables(server: MysqlServer, settings: SourceSettings) -> Iterator[Finding]:
    """Yield a finding for each pattern: one that matches nothing may be written wrongly.

    An account without rights on tables sees none, and may follow them all the same.
    """
    names = [(str(row["db"]), str(row["name"])) for row in server.query(_TABLES)]
    if all(database in SYSTEM_DATABASES for database, _ in names):
        return
    lower_case = server.variable("lower_case_table_names") == "1"
    for pattern in settings.tables:
        wanted = TableFilter([pattern], settings.exclude_tables)
        count = sum(wanted.follows(*name) for name in names)
        yield Finding(
            "source.tables",
            f"{pattern}: {count} {'table' if count == 1 else 'tables'}",
            "a table",
            count > 0,
            f"{pattern} matches no table that there is now, and that the account may see"
            + ("; this server has names in lower case" if lower_case else ""),
            Severity.WARNING,
        )


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("setting or grant", no_wrap=True)
    for title in ("value", "wanted", ""):
        table.add_column(title, overflow="fold")
    for finding in findings:
        mark = _GOOD if finding.ok else _MARKS[finding.severity]
        table.add_row(Text(finding.name), Text(finding.value), Text(finding.wanted), mark)
    return table


def _check_kafka(settings: KafkaSettings, console: Console) -> bool:
    where = f"Kafka {','.join(settings.bootstrap_servers)}"
    try:
        admin = KafkaAdminClient(**client_settings(settings))
        try:
            brokers = len(admin.describe_cluster()["brokers"])
        finally:
            admin.close()
    except (KafkaError, OSError) as error:
        problem = connector_error(settings, "connect", error)
        console.print(str(problem), markup=False, style="red", soft_wrap=True)
        return False
    console.print(f"{where}: {brokers} broker{'' if brokers == 1 else 's'}", markup=False)
    if settings.replication_factor > brokers:
        console.print(
            f"{where}: kafka.replication_factor is {settings.replication_factor}, above the number "
            f"of brokers, {brokers}: lower it",
            markup=False,
            style="red",
            soft_wrap=True,
        )
        return False
    try:
        check_limits(settings)
    except ConnectorError as error:
        console.print(str(error), markup=False, style="red", soft_wrap=True)
        return False
    return True
