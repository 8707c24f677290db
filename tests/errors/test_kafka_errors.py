"""What Kafka's client raises, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kafka import errors
from structlog.testing import capture_logs

from connector.errors import SinkRefused, SinkUnavailable
from connector.settings.sections import KafkaSettings
from connector.sink.clients import KAFKA_CLIENTS
from connector.sink.connection import connector_error
from connector.sink.limits import check_limits
from tests.errors.texts import text

SERVERS = "kafka-1:9092,kafka-2:9092"
SETTINGS = KafkaSettings(bootstrap_servers=SERVERS.split(","), topic_prefix="shop")
DOING = "write to topic shop.shop.orders"
REFUSALS = [
    (errors.TopicAuthorizationFailedError, "kafka.topic_rights"),
    (errors.ClusterAuthorizationFailedError, "kafka.cluster_rights"),
    (errors.TransactionalIdAuthorizationFailedError, "kafka.transactional_rights"),
    (errors.SaslAuthenticationFailedError, "kafka.login"),
    (errors.UnsupportedSaslMechanismError, "kafka.mechanism"),
    (errors.InvalidTransactionTimeoutError, "kafka.timeout"),
    (errors.InvalidPartitionsError, "kafka.partitions"),
    (errors.PolicyViolationError, "kafka.policy"),
    (errors.InvalidTopicError, "kafka.name"),
    (errors.MessageSizeTooLargeError, "kafka.size"),
    (errors.RecordListTooLargeError, "kafka.size"),
    (errors.UnsupportedVersionError, "kafka.version"),
]


@pytest.mark.parametrize(("kind", "key"), REFUSALS, ids=[kind.__name__ for kind, _ in REFUSALS])
def test_what_repeating_cannot_change_is_refused(kind: type[errors.KafkaError], key: str) -> None:
    # The client's transactions put the name of an error into the text of another one.
    for error in (kind(), errors.KafkaError(f"the transaction failed: {kind.__name__}")):
        found = connector_error(SETTINGS, DOING, error)
        assert str(found) == text(key, servers=SERVERS, doing=DOING)
        assert type(found) is SinkRefused


def test_everything_else_may_pass() -> None:
    found = connector_error(SETTINGS, DOING, errors.KafkaTimeoutError("no answer"))
    assert str(found) == text(
        "kafka.unavailable", servers=SERVERS, doing=DOING, why="KafkaTimeoutError: no answer"
    )
    assert type(found) is SinkUnavailable


def test_limits_that_may_not_be_looked_at() -> None:
    def refuse(**_: object) -> None:
        raise errors.ClusterAuthorizationFailedError

    with capture_logs() as logs:
        check_limits(SETTINGS, replace(KAFKA_CLIENTS, open_admin=refuse))
    assert [log["event"] for log in logs] == [text("kafka.no_limits")]
