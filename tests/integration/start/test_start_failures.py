"""What a user sees when something that is needed is not there: word for word."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
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

from connector.cli import command_errors
from connector.foundation.errors.message import Message
from connector.stream.snapshot import copy_errors
from local_stack import KafkaBroker, MysqlServer, connect
from local_stack.server import free_port
from tests import forked_command
from tests.foundation.errors.texts import text_of
from tests.integration.database_stream import new_stream
from tests.integration.harness import failure_of, run_to_end

if TYPE_CHECKING:
    from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def guarded_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that asks for rights on a topic, if there are rules of it."""
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with KafkaBroker(tmp_path_factory.mktemp("guarded"), settings=settings) as broker:
        # Who may create topics in the cluster may create each of them.
        cluster = ResourcePattern(
            ResourceType.CLUSTER, "kafka-cluster", ACLResourcePatternType.LITERAL
        )
        deny(broker, ACLOperation.CREATE, cluster)
        yield broker


def deny(broker: KafkaBroker, denied: ACLOperation, pattern: ResourcePattern) -> None:
    """Take one right away from everybody, and give all others: one rule would deny them, too."""
    rules = ((ACLOperation.ALL, ACLPermissionType.ALLOW), (denied, ACLPermissionType.DENY))
    with closing(KafkaAdminClient(bootstrap_servers=broker.endpoint.bootstrap)) as admin:
        admin.create_acls(
            [ACL("User:ANONYMOUS", "*", right, given, pattern) for right, given in rules]
        )


def guarded(stream: Stream, broker: KafkaBroker, denied: ACLOperation | None = None) -> Stream:
    """Return the same stream to another broker, where it lacks a right on its topics."""
    if denied is not None:
        topics = ResourcePattern(ResourceType.TOPIC, stream.prefix, ACLResourcePatternType.PREFIXED)
        deny(broker, denied, topics)
    return replace(stream, broker=broker.endpoint)


CONTROL_TOPICS = "shop.progress, shop.schema, shop.snapshot, shop.fences, shop.commands"
BEFOREHAND = (
    "or create the topic beforehand; a topic without rows has one partition, and some are compacted"
)
RIGHTS = "allow CREATE, DESCRIBE, READ and WRITE on topics that start with kafka.topic_prefix"


def test_no_right_to_create_topics(stream: Stream, guarded_broker: KafkaBroker) -> None:
    assert said(guarded(stream, guarded_broker, ACLOperation.CREATE)) == (
        f"kafka BROKER: cannot create topic {CONTROL_TOPICS}: the user lacks rights on it; "
        f"{RIGHTS}, {BEFOREHAND}"
    )


def test_check_sees_that_new_topics_cannot_be_described(
    stream: Stream, guarded_broker: KafkaBroker
) -> None:
    denied = guarded(stream, guarded_broker, ACLOperation.DESCRIBE)
    done = forked_command.run("check", str(denied.config()))
    assert done.returncode == 3, done.stderr
    shown = done.stderr.replace(stream.prefix, "shop").replace(denied.broker.bootstrap, "BROKER")
    assert (
        f"error: [K111] kafka BROKER: cannot create topic {CONTROL_TOPICS}: the user lacks rights "
        f"on it; {RIGHTS}, {BEFOREHAND}"
    ) in shown.splitlines(), shown
    with closing(KafkaAdminClient(bootstrap_servers=denied.broker.bootstrap)) as admin:
        assert not [topic for topic in admin.list_topics() if topic.startswith(stream.prefix)]


def test_no_right_to_create_topics_of_further_tables(
    stream: Stream, guarded_broker: KafkaBroker
) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    allowed = guarded(stream, guarded_broker)
    with allowed.connector() as connector:
        allowed.wait_for_changes(1, connector)
        assert connector.terminate() == 0
    with closing(KafkaAdminClient(bootstrap_servers=guarded_broker.endpoint.bootstrap)) as admin:
        one = {"num_partitions": 1, "replication_factor": 1}
        admin.create_topics({f"{stream.prefix}.quarantine": one}, wait_for_metadata=True)
    denied = guarded(stream, guarded_broker, ACLOperation.CREATE)
    with denied.connector() as connector:
        # Existing topics work.
        stream.execute("INSERT INTO t VALUES (2)")
        denied.wait_for_changes(2, connector)
        lines = [json.loads(line) for line in connector.output().splitlines()]
        (warning,) = (each for each in lines if each.get("error.code") == "K322")
        assert warning["message"] == (
            "the user may not create topics of tables; create those of followed tables "
            "beforehand, or allow CREATE and DESCRIBE on topics that start with kafka.topic_prefix"
        )
        stream.execute("CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)")
        stream.execute("INSERT INTO t VALUES (3)")
        denied.wait_for_changes(3, connector)
        assert connector.terminate() == 0
        lines = [json.loads(line) for line in connector.output().splitlines()]
        (fenced,) = (each for each in lines if each.get("cdc.fenced") == "the table")
        assert fenced["cdc.table"] == f"{stream.database}.u"
        text = fenced["cdc.reason"].replace(stream.database, "shop")
        assert text.replace(denied.broker.bootstrap, "BROKER") == (
            "[K111] kafka BROKER: cannot create topic shop.shop.u: the user lacks rights on it; "
            f"{RIGHTS}, {BEFOREHAND}"
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
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
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
    assert told == f"source.tables: {Message(command_errors.NO_TABLE, facts).fix}"
    with stream.connector(source__tables=tables[1:], source__start="snapshot") as connector:
        connector.wait_for(text_of(copy_errors.NONE_FOLLOWED_YET))
        assert connector.terminate() == 0
