"""Patterns of `source.tables`, on real servers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from connector.cli import command_errors
from connector.cli.check import table_counts
from connector.foundation.settings.configuration import load_settings
from connector.replication.server.mysql_server import MysqlServer as Session
from connector.stream.commands.requests import write_command
from connector.stream.snapshot import copy_errors
from connector.stream.source.followed_tables import base_tables
from local_stack import MariadbServer, MysqlServer
from tests import forked_command
from tests.foundation.errors.texts import text_of
from tests.integration.database_stream import new_stream
from tests.integration.harness import wait_until_settled
from tests.integration.proof.delivered import proven
from tests.integration.snapshots.test_snapshot import run_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import KafkaBroker, Server
    from tests.integration.database_stream import Stream
    from tests.integration.source_server import Source

pytestmark = [pytest.mark.server, pytest.mark.kafka]

LOWER = {"lower_case_table_names": "1"}


def test_a_pattern_that_matches_nothing_is_told(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.orders (id INT)")
    user = source.create_account("SELECT")
    patterns = [f"{schema}.ordrs", f"{schema}.ord*"]
    settings = source.settings(user=user, tables=patterns)
    with Session.connect(settings) as session:
        unmatched, matched = table_counts(session, settings, base_tables(session))
    assert matched.finding.ok
    assert not unmatched.finding.ok
    assert unmatched.finding.problem.text == text_of(
        command_errors.NO_TABLE, value=f"{patterns[0]}: 0 tables", pattern=patterns[0]
    )


@pytest.mark.parametrize("new", [MysqlServer, partial(MariadbServer)])
def test_patterns_ignore_case_where_the_server_does(
    new: type[MysqlServer], kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    server: Server
    with new(tmp_path / "server", settings=LOWER) as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        stream.execute(
            "CREATE TABLE Users (id INT PRIMARY KEY, Mail VARCHAR(20), Ssn VARCHAR(20))",
            "INSERT INTO Users VALUES (1, 'zaphod', '987')",
            "CREATE TABLE Left_out (id INT PRIMARY KEY)",
            "INSERT INTO Left_out VALUES (1)",
        )
        capitals = stream.database.upper()
        chosen: dict[str, object] = {
            "source__start": "snapshot",
            "source__tables": [f"{capitals}.*"],
            "source__exclude_tables": [f"{capitals}.Left_Out"],
            "source__exclude_columns": [f"{capitals}.USERS.Ssn"],
            "source__masks": [{"columns": [f"{capitals}.Users.MAIL"], "chars": 2}],
        }
        with stream.connector(**chosen) as connector:
            stream.wait_for_changes(1, connector)
            stream.execute("INSERT INTO Users VALUES (2, 'arthur', '123')")
            stream.wait_for_changes(2, connector)
            copied = run_snapshot(connector.config, f"{capitals}.Users")
            assert (copied.returncode, copied.stderr) == (0, "")
            settings = load_settings(connector.config)
            copied_before = len(stream.changes())
            names = [[capitals, "USERS"]]
            write_command(settings.kafka, settings.name, "snapshot", tables=names, where="id = 2")
            seen = stream.wait_for_changes(copied_before + 1, connector)
            wait_until_settled(stream.broker, stream.prefix)
            proof = proven(connector.config)
            assert connector.terminate() == 0
        done = forked_command.run("check", str(connector.config))
        assert done.stdout.splitlines()[-1] == "ready", done.stdout + done.stderr
        topic = f"{stream.prefix}.{stream.database}.users"
        assert (proof.topics[topic].found, dict(proof.differences)) == (1, {})
        rows = [each.value["after"] for each in seen if each.op != "t"]
        assert rows[:2] == [{"id": 1, "Mail": "**"}, {"id": 2, "Mail": "**"}]
        assert rows[-1] == {"id": 2, "Mail": "**"}
        assert {each.topic for each in seen} == {topic}
        assert text_of(copy_errors.NONE_FOLLOWED_YET) not in connector.output()


def test_check_tells_that_an_account_without_tables_sees_none_to_compare_patterns_with(
    either_stream: Stream,
) -> None:
    stream = either_stream
    user = f"u{stream.database}"
    config = stream.config(source__user=user, source__password="pw", source__tables=["no.such"])
    stream.execute(
        f"CREATE USER {user} IDENTIFIED BY 'pw'",
        f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {user}",
    )
    told = text_of(command_errors.NO_TABLE_SEEN, value="").partition("; ")[2]
    try:
        done = forked_command.run("check", str(config))
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"source.tables: {told}" in done.stdout.splitlines()
        # Who may see all tables sees that none has this name.
        stream.execute(f"GRANT SELECT ON *.* TO {user}")
        done = forked_command.run("check", str(config))
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"source.tables: {told}" not in done.stdout.splitlines()
        assert done.stdout.splitlines()[-1].endswith("source.tables matches no table by no.such")
    finally:
        stream.execute(f"DROP USER {user}")


def test_a_name_without_a_table_is_told_by_check_and_at_the_start(stream: Stream) -> None:
    stream.execute("CREATE TABLE orders (id INT PRIMARY KEY)")
    wrong = f"{stream.database}.ordrs"
    chosen = {
        "source__start": "snapshot",
        "source__tables": [f"{stream.database}.orders", wrong],
    }
    config = stream.config(**chosen)
    done = forked_command.run("check", str(config))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == f"ready, but source.tables matches no table by {wrong}"
    with stream.connector(**chosen) as connector:
        connector.wait_for(text_of(copy_errors.NAME_MATCHES_NONE, pattern=wrong))
        # It may come later.
        stream.execute("CREATE TABLE ordrs (id INT PRIMARY KEY)", "INSERT INTO ordrs VALUES (1)")
        (row,) = stream.wait_for_changes(1, connector)
        assert row.topic.endswith(".ordrs")
        assert connector.terminate() == 0
