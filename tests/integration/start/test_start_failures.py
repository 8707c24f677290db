"""What a user sees when something that is needed is not there: word for word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)

from connector.errors import copies, source_setup
from connector.errors.message import Message
from local_stack import KafkaBroker, MysqlServer, connect
from local_stack.managed_server import free_port
from tests import forked_command
from tests.errors.texts import text_of
from tests.integration.database_stream import new_stream
from tests.integration.harness import failure_of, run_to_end

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def said(stream: Stream, *, code: int = 3, **changed: object) -> str:
    """Run the connector to its end and return its error, with names that do not change."""
    found, output = run_to_end(stream.config(**changed))
    assert found == code, output
    text = failure_of(output).replace(stream.database, "shop")
    return text.replace(f"{stream.source.host}:{stream.source.port}", "SOURCE").replace(
        stream.broker.bootstrap, "BROKER"
    )


def test_a_wrong_password(stream: Stream) -> None:
    stream.execute("CREATE USER IF NOT EXISTS wrong@'%' IDENTIFIED BY 'right'")
    assert said(stream, source__user="wrong", source__password="wrong") == (
        "source SOURCE: error 1045: Access denied for user 'wrong'@'127.0.0.1' (using password: "
        "YES); check source.user and source.password, and that the account may log in from this "
        "host"
    )


def test_no_grants(stream: Stream) -> None:
    stream.execute("CREATE USER IF NOT EXISTS nobody@'%' IDENTIFIED BY 'right'")
    assert said(stream, source__user="nobody", source__password="right") == (
        "source SOURCE: the server cannot be followed as it is set up:\n"
        "  [S631] grant REPLICATION SLAVE is missing, wanted granted; "
        "GRANT REPLICATION SLAVE ON *.* TO 'nobody'@'%'\n"
        "  [S631] grant REPLICATION CLIENT is missing, wanted granted; "
        "GRANT REPLICATION CLIENT ON *.* TO 'nobody'@'%'"
    )


def test_a_source_that_does_not_log_rows(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    settings = {"binlog-format": "STATEMENT"}
    with MysqlServer(tmp_path / "mysql", settings=settings) as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        assert said(stream) == (
            "source SOURCE: the server cannot be followed as it is set up:\n"
            "  [S614] binlog_format is STATEMENT, wanted ROW; SET PERSIST binlog_format = 'ROW'; "
            "sessions that are open keep the old format until they reconnect"
        )


def test_a_source_that_is_not_there(stream: Stream) -> None:
    port = free_port()
    text = said(stream, code=1, source__port=port, retry__attempts_max=2)
    assert text.replace(str(port), "PORT") == (
        "source 127.0.0.1:PORT: cannot connect: Connection refused; check that the server runs, "
        "source.host, source.port and firewalls"
    )


def test_a_broker_that_is_not_there(stream: Stream) -> None:
    port = free_port()
    text = said(
        stream,
        code=1,
        kafka__bootstrap_servers=[f"127.0.0.1:{port}"],
        retry__attempts_max=2,
    )
    assert text.replace(str(port), "PORT") == (
        "kafka 127.0.0.1:PORT: cannot connect: Connection refused; check kafka.bootstrap_servers, "
        "firewalls, and that the brokers are up"
    )


def test_no_right_to_create_topics(stream: Stream, tmp_path: Path) -> None:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with KafkaBroker(tmp_path / "kafka", settings=settings) as broker:
        admin = KafkaAdminClient(bootstrap_servers=broker.endpoint.bootstrap)
        pattern = ResourcePattern(
            ResourceType.TOPIC, stream.prefix, ACLResourcePatternType.PREFIXED
        )
        admin.create_acls(
            [ACL("User:ANONYMOUS", "*", ACLOperation.CREATE, ACLPermissionType.DENY, pattern)]
        )
        admin.close()
        text = said(stream, kafka__bootstrap_servers=[broker.endpoint.bootstrap])
        assert text.replace(broker.endpoint.bootstrap, "BROKER") == (
            "kafka BROKER: cannot create topic shop.progress, shop.schema, shop.snapshot, "
            "shop.fences, shop.commands: the user lacks rights on it; allow CREATE, DESCRIBE, READ "
            "and WRITE on topics that start with kafka.topic_prefix, or create the topic beforehand"
        )


def test_a_key_that_does_not_exist(stream: Stream) -> None:
    assert said(stream, code=2, source__pasword="x") == (
        "CONFIG: unknown key source.pasword (did you mean source.password?); `binlog-connector "
        "config` lists the keys"
    )


def test_transactions_that_the_source_has_purged(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    with MysqlServer(tmp_path / "mysql") as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@server_uuid")
            (uuid,) = cursor.fetchone() or ("",)
        stream.execute(
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "INSERT INTO t VALUES (1)",
            "FLUSH BINARY LOGS",
            "PURGE BINARY LOGS TO 'binlog.000002'",
        )
        text = said(stream, source__start=f"gtid:{uuid}:1")
        assert text.replace(uuid, "UUID") == (
            "source SOURCE: the server has purged transactions that were not read: UUID:2-3; "
            "if the stream goes on without them, changes are lost: give the pipeline a new "
            "name and start over, or "
            "point it at a replica that still has them; keep logs longer with "
            "binlog_expire_logs_seconds"
        )


def test_check_shows_what_is_missing_and_the_statement_that_fixes_it(stream: Stream) -> None:
    stream.execute("CREATE USER IF NOT EXISTS nobody@'%' IDENTIFIED BY 'right'")
    config = stream.config(source__user="nobody", source__password="right")
    done = forked_command.run("check", str(config))
    assert done.returncode == 3
    shown = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "binlog_format ROW ROW ok" in shown
    assert "grant REPLICATION SLAVE missing granted missing" in shown
    assert (
        "  [S631] grant REPLICATION SLAVE is missing, wanted granted; "
        "GRANT REPLICATION SLAVE ON *.* TO 'nobody'@'%'"
    ) in done.stderr.splitlines()
    assert shown[-1] == "not ready"


def test_check_says_ready_when_everything_is_there(stream: Stream) -> None:
    done = forked_command.run("check", str(stream.config()))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "ready"


def test_patterns_that_match_no_table_are_told(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    tables = [f"{stream.database}.*", f"{stream.database}.T"]
    config = stream.config(source__tables=tables, source__start="snapshot")
    done = forked_command.run("check", str(config))
    assert done.returncode == 0, done.stdout + done.stderr
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("source.tables:")]
    facts = {"value": f"{tables[1]}: 0 tables", "pattern": tables[1]}
    assert told == f"source.tables: {Message(source_setup.NO_TABLE, facts).fix}"
    with stream.connector(source__tables=tables[1:], source__start="snapshot") as connector:
        connector.wait_for(text_of(copies.NONE_FOLLOWED_YET))
        assert connector.terminate() == 0
