"""A broker that refuses the login is told apart from one that is not there."""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)
from structlog.testing import capture_logs

from connector.foundation.errors import RecordTooLarge, SinkRefused, SinkUnavailable
from connector.foundation.kafka_records import NO_HEADERS
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka import connection_errors
from connector.stream.sink import kafka_errors, log_copy_errors
from connector.stream.sink.checks import check_limits
from connector.stream.sink.connection import KAFKA_CLIENTS
from connector.stream.sink.kafka_sink import KafkaSink
from connector.stream.sink.log_copy import copy_log
from local_stack import KafkaBroker
from local_stack.server import HOST, free_port
from stream_jobs.source.backlog import kept_until
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import BrokerConfig
from tests.foundation.errors.texts import text_of
from tests.integration.sink.commits import PROGRESS, commit
from verification.topics.run import topics_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode

pytestmark = pytest.mark.kafka

PASSWORD = "right"
_PATTERNS = {
    ResourceType.TOPIC: ACLResourcePatternType.PREFIXED,
    ResourceType.TRANSACTIONAL_ID: ACLResourcePatternType.PREFIXED,
    ResourceType.CLUSTER: ACLResourcePatternType.LITERAL,
}


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a broker wants a login, by PLAIN."""

    address: str
    door: str  # without a login

    def allow(self, user: str, kind: ResourceType, name: str, operations: str) -> None:
        """Allow a user operations on all resources whose names begin with `name`."""
        pattern = ResourcePattern(kind, name, _PATTERNS[kind])
        admin = KafkaAdminClient(bootstrap_servers=self.door)
        with closing(admin):
            admin.create_acls(
                [
                    ACL(f"User:{user}", "*", ACLOperation[each], ACLPermissionType.ALLOW, pattern)
                    for each in operations.split()
                ]
            )

    def settings(self, **changes: Any) -> KafkaSettings:
        values: dict[str, Any] = {
            "bootstrap_servers": [self.address],
            "topic_prefix": "shop",
            "request_timeout_seconds": 5,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": "alice",
            "sasl_password": PASSWORD,
        }
        return KafkaSettings.model_validate(values | changes)


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listener]:
    """A broker with one door without a login, for whoever started it, and one with."""
    directory = tmp_path_factory.mktemp("kafka")
    ports = {name: free_port() for name in ("port", "controller_port", "login_port")}
    for name, port in ports.items():
        (directory / name).write_text(str(port))
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    settings = {
        "listeners": f"PLAINTEXT://{HOST}:{ports['port']},LOGIN://{HOST}:{ports['login_port']},"
        f"CONTROLLER://{HOST}:{ports['controller_port']}",
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT"
        ),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": (
            f'{login} user_alice="{PASSWORD}" user_bob="{PASSWORD}";'
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
    }
    with KafkaBroker(directory, settings=settings):
        yield Listener(f"{HOST}:{ports['login_port']}", f"{HOST}:{ports['port']}")


def test_the_right_password_is_let_in(listener: Listener) -> None:
    settings = listener.settings()
    check_limits(settings)
    sink = KafkaSink(settings, "a", "instance", 1 << 20)
    try:
        assert sink.recover().progress is None
    finally:
        sink.close()


def test_an_account_with_the_fewest_rights_goes_on(listener: Listener) -> None:
    """Those of docs/tasks/security.md, without DESCRIBE_CONFIGS."""
    settings = listener.settings(sasl_username="bob", topic_prefix="crm")
    listener.allow("bob", ResourceType.TOPIC, "crm", "CREATE DESCRIBE READ WRITE")
    listener.allow("bob", ResourceType.TRANSACTIONAL_ID, "binlog-connector", "DESCRIBE WRITE")
    listener.allow("bob", ResourceType.CLUSTER, "kafka-cluster", "CREATE IDEMPOTENT_WRITE")
    sink = KafkaSink(settings, "a", "instance", 1 << 20)
    try:
        assert sink.recover().progress is None
    finally:
        sink.close()
    with capture_logs() as logs:
        check_limits(settings)
    assert [log["event"] for log in logs] == [text_of(kafka_errors.NO_LIMITS)]
    # A record that is too large is sent, and the broker says so.
    topic = "crm.db.small"
    described = {"num_partitions": 1, "replication_factor": 1}
    with closing(KafkaAdminClient(bootstrap_servers=listener.door)) as admin:
        small = described | {"configs": {"max.message.bytes": "2000"}}
        admin.create_topics({topic: small}, wait_for_metadata=True)
    sink = KafkaSink(settings, "a", "instance", 1 << 20)
    try:
        sink.recover()
        sink.target.take(topic, b"1", random.Random(7).randbytes(3000), NO_HEADERS, 1)
        with pytest.raises(SinkRefused) as caught:
            commit(sink, PROGRESS)
    finally:
        sink.close()
    assert not isinstance(caught.value, RecordTooLarge)
    assert caught.value.code is kafka_errors.RECORD_SIZE
    # Nobody may see which topics are compacted, which is no error.
    assert set(topics_of(settings, KAFKA_CLIENTS, set()).values()) == {False}
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "bob",
        "sasl_plain_password": PASSWORD,
    }
    facts = BrokerConfig((listener.address,), 5.0, tuple(login.items()))
    with closing(KafkaClient(facts)) as client:
        assert kept_until(facts, client, {("crm.progress", 0): 0}) == {}


def test_a_log_whose_settings_the_account_may_not_see_is_not_copied(
    listener: Listener, tmp_path: Path
) -> None:
    listener.allow("bob", ResourceType.TOPIC, "old", "CREATE DESCRIBE READ WRITE")
    settings = listener.settings(sasl_username="bob", topic_prefix="old")
    with closing(KafkaAdminClient(bootstrap_servers=listener.door)) as admin:
        described = {"num_partitions": 1, "replication_factor": 1}
        admin.create_topics({"old.progress": described}, wait_for_metadata=True)
    target = KafkaSettings(bootstrap_servers=[f"file://{tmp_path}/log"], topic_prefix="old")
    with pytest.raises(SinkRefused) as caught:
        copy_log(settings, target, lambda *_: None)
    assert caught.value.text == text_of(
        log_copy_errors.NO_SETTINGS, servers=listener.address, topic="old.progress"
    )
    assert not (tmp_path / "log").exists()


def test_each_client_asks_the_command_for_the_password_anew(
    listener: Listener, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("wrong\n")
    settings = listener.settings(sasl_password=None, sasl_password_command=["cat", str(secret)])
    # It may be a newer one at the next attempt, so this is not the end.
    with pytest.raises(SinkUnavailable) as caught:
        check_limits(settings)
    assert caught.value.code is connection_errors.LOGIN_REFUSED
    secret.write_text(f"{PASSWORD}\n")
    check_limits(settings)
    sink = KafkaSink(settings, "a", "instance", 1 << 20)
    try:
        assert sink.recover().progress is None
    finally:
        sink.close()
    secret.unlink()
    with pytest.raises(SinkUnavailable, match=r"\[C197\] kafka.sasl_password_command: cat ended"):
        check_limits(settings)


@pytest.mark.parametrize(
    ("code", "values", "changes"),
    [
        (connection_errors.LOGIN_REFUSED, {}, {"sasl_password": "wrong"}),
        (
            connection_errors.OTHER_MECHANISM,
            {"offered": "PLAIN", "mechanism": "SCRAM-SHA-256"},
            {"sasl_mechanism": "SCRAM-SHA-256"},
        ),
    ],
)
def test_a_login_that_is_refused_is_the_end(
    listener: Listener, code: ErrorCode, values: dict[str, str], changes: dict[str, object]
) -> None:
    with pytest.raises(SinkRefused) as caught:
        check_limits(listener.settings(**changes))
    assert caught.value.code is code
    assert caught.value.text == f"kafka {listener.address}: {text_of(code, **values)}"


def test_a_broker_that_cannot_be_reached_may_let_us_in(listener: Listener) -> None:
    servers = [listener.address, f"{HOST}:{free_port()}"]
    settings = listener.settings(sasl_password="wrong", bootstrap_servers=servers)
    with pytest.raises(SinkUnavailable) as caught:
        check_limits(settings)
    refused, gone = connection_errors.LOGIN_REFUSED, connection_errors.NO_CONNECTION
    lines = {
        servers[0]: f"[{refused}] {servers[0]}: {text_of(refused)}",
        servers[1]: f"[{gone}] {servers[1]}: {text_of(gone, why='Connection refused')}",
    }
    first, second = (line for _, line in sorted(lines.items()))
    assert caught.value.code is connection_errors.SEVERAL
    assert caught.value.text == (
        f"kafka {','.join(servers)}: no broker accepts the connection:\n  {first}\n  {second}"
    )
