"""What administrators do to sources: switch them over, purge logs, end sessions, change tables."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pymysql

from connector.foundation.settings.configuration import load_settings
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_setting import resolve_start
from local_stack import connect
from tests.chaos.kind import Kind
from tests.chaos.link import End
from tests.chaos.replication import alter, ask
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.settings.sections import SourceSettings
    from local_stack import Endpoint
    from tests.chaos.stage import Stage

_TOO_MANY_CONNECTIONS = 1040
_CONNECTIONS_MAX = 20
_COLLISION = "the same server_uuid/server_id|error 4052"
# Whoever is connected to MariaDB is told, to MySQL is not; who connects again, is.
_RESET_ALSO_TOLD = 0.5
# After a failover, MariaDB misses the transaction of the server that was the source before.
_RESET = "logs were reset|already read|could not find next log|does not have what was read last"


def _switch(stage: Stage) -> None:
    with stage.gate.held():
        stage.pair.switch(killed=False)


def _switch_killed(stage: Stage) -> None:
    with stage.gate.held():
        stage.pair.switch(killed=True)


def _restart_old_source(stage: Stage) -> None:
    stage.pair.restart_replica()


def _move_addresses(stage: Stage) -> None:
    stage.pair.move_addresses()


def _settings(stage: Stage) -> Iterator[tuple[Endpoint, SourceSettings]]:
    """Yield what the connector would need to log in at each of the servers directly."""
    source = load_settings(stage.config).source
    for endpoint in (stage.pair.source, stage.pair.replica):
        address = {"host": endpoint.host, "port": endpoint.port, "failover_hosts": []}
        yield endpoint, source.model_copy(update=address)


def _followed(stage: Stage) -> tuple[Endpoint, SourceSettings] | None:
    """Return the server that the last progress speaks of; None while that is none of the two."""
    for endpoint, settings in _settings(stage):
        with MysqlServer.connect(settings) as server:
            if server.identity.server_uuid == stage.reader.progress.get("server_uuid"):
                return endpoint, settings
    return None


def _purge(stage: Stage) -> None:
    followed = _followed(stage)
    if followed is None:
        return
    endpoint, _ = followed
    for _ in range(stage.chance.randint(1, 3)):
        ask(endpoint, "FLUSH BINARY LOGS")
        time.sleep(stage.chance.uniform(0.0, 0.3))
    stage.pair.wait_for_replica()
    ask(endpoint, f"PURGE BINARY LOGS TO '{stage.reader.progress['file']}'")


def _kill_dump(stage: Stage) -> None:
    stage.pair.kill_logins()


def _collide(stage: Stage) -> None:
    # The older one is thrown out: the connector has to be connected before the rogue is.
    stage.recover(time.monotonic())
    followed = _followed(stage)
    if followed is None:
        return
    _, settings = followed
    with MysqlServer.connect(settings) as server:
        end = resolve_start(server, "latest")
    with closing(open_stream(settings, end, replica_name=stage.name)):
        stage.wait_until_refused(stage.connector, _COLLISION)
    stage.connector = stage.new_connector()


def _exhaust_connections(stage: Stage) -> None:
    with ExitStack() as sessions:
        # The connector's own session would leave room for its next one.
        for link in stage.pair.links:
            link.refuses = True
            link.cut(End.RST)
        stage.wait_for(lambda: not stage.pair.logins(), "the end of the connector's sessions")
        administrators = []
        for endpoint in (stage.pair.source, stage.pair.replica):
            administrator = sessions.enter_context(closing(connect(endpoint)))
            (limit,) = ask(endpoint, "SELECT @@GLOBAL.max_connections AS connections")
            administrators.append((administrator, limit["connections"]))
            administrator.cursor().execute(f"SET GLOBAL max_connections = {_CONNECTIONS_MAX}")
            try:
                while True:
                    sessions.enter_context(closing(connect(endpoint)))
            except pymysql.err.OperationalError as error:
                if error.args[0] != _TOO_MANY_CONNECTIONS:
                    raise
        for link in stage.pair.links:
            link.refuses = False
        time.sleep(stage.chance.uniform(0.3, 1.5))
        for administrator, limit in administrators:
            administrator.cursor().execute(f"SET GLOBAL max_connections = {limit}")


def _reset_logs(stage: Stage) -> None:
    with stage.gate.held():
        stage.closed.append(stage.judge_held())
        # A replica that lacks what was read might only lag: it would be waited for.
        stage.go_on_without_replica()
        stage.pair.reset_logs()
        stage.mark()
        # MySQL tells nothing to those who are connected; who has to connect again, is told at once.
        if stage.chance.random() < _RESET_ALSO_TOLD:
            stage.pair.kill_logins()
        stage.wait_until_refused(stage.connector, _RESET)
        stage.reader.stop()
        stage.begin_generation()


def _change_columns(stage: Stage) -> None:
    """Add a column that existing rows have a value in; drop the one that was added before."""
    defaults = stage.defaults.setdefault("account", {})
    number = len(defaults) + 1
    table = f"{stage.database}.account"
    statements = [f"ALTER TABLE {table} ADD COLUMN more_{number} INT NOT NULL DEFAULT {number}"]
    if defaults:
        statements.append(f"ALTER TABLE {table} DROP COLUMN more_{number - 1}")
    defaults[f"more_{number}"] = number
    alter(stage.pair.source, *statements)


def _cut_over(stage: Stage) -> None:
    """Replace a table by a copy with one more column, as gh-ost does when the copy is complete."""
    defaults = stage.defaults.setdefault("account", {})
    number = len(defaults) + 1
    defaults[f"more_{number}"] = number
    with stage.gate.held():
        stage.pair.roll_back_prepared()
        (columns,) = ask(
            stage.pair.source,
            "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) AS names "
            "FROM information_schema.columns "
            f"WHERE table_schema = '{stage.database}' AND table_name = 'account'",
        )
        alter(
            stage.pair.source,
            f"USE {stage.database}",
            "CREATE TABLE _account_gho LIKE account",
            f"ALTER TABLE _account_gho ADD COLUMN more_{number} INT NOT NULL DEFAULT {number}",
            f"INSERT INTO _account_gho ({columns['names']}) SELECT * FROM account",
            "RENAME TABLE account TO _account_del, _account_gho TO account",
            "DROP TABLE _account_del",
        )


def _rename(stage: Stage) -> None:
    """Give a table another name and its own again, which nobody can tell from another table's."""
    with stage.gate.held():
        stage.pair.roll_back_prepared()
        alter(
            stage.pair.source,
            f"USE {stage.database}",
            "RENAME TABLE account TO away",
            "RENAME TABLE away TO account",
        )


SOURCE_FAULTS = (
    Kind("failover: planned", 4, _switch, alone=True),
    Kind("failover: source killed", 4, _switch_killed, _restart_old_source, alone=True),
    Kind("failover: addresses move", 3, _move_addresses),
    Kind("logs flushed and purged", 6, _purge),
    Kind("sessions killed", 6, _kill_dump),
    Kind("server_id collision", 3, _collide, alone=True),
    Kind("max_connections exhausted", 3, _exhaust_connections),
    Kind("ALTER TABLE, columns added and dropped", 3, _change_columns),
    Kind("gh-ost's cut-over", 2, _cut_over),
    Kind("RENAME, the table is copied again", 2, _rename),
    Kind("RESET BINARY LOGS, a new pipeline", 1, _reset_logs, alone=True, rarely=True),
)
