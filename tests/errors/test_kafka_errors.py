"""What Kafka's client raises, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from kafka import errors
from structlog.testing import capture_logs

from connector.errors import SinkRefused, SinkUnavailable, kafka, kafka_limits
from connector.settings.sections import KafkaSettings
from connector.sink import attempts
from connector.sink.clients import KAFKA_CLIENTS
from connector.sink.connection import connector_error
from connector.sink.limits import check_limits
from tests.errors.texts import text_of

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode

SERVERS = "kafka-1:9092,kafka-2:9092"
SETTINGS = KafkaSettings(bootstrap_servers=SERVERS.split(","), topic_prefix="shop")
DOING = attempts.writing("shop.shop.orders")
REFUSALS = [
    (errors.TopicAuthorizationFailedError, kafka.TOPIC_RIGHTS),
    (errors.ClusterAuthorizationFailedError, kafka.CLUSTER_RIGHTS),
    (errors.TransactionalIdAuthorizationFailedError, kafka.TRANSACTIONAL_RIGHTS),
    (errors.SaslAuthenticationFailedError, kafka.LOGIN),
    (errors.UnsupportedSaslMechanismError, kafka.MECHANISM),
    (errors.InvalidTransactionTimeoutError, kafka.TIMEOUT),
    (errors.InvalidPartitionsError, kafka.PARTITIONS),
    (errors.PolicyViolationError, kafka.POLICY),
    (errors.InvalidTopicError, kafka.TOPIC_NAME),
    (errors.MessageSizeTooLargeError, kafka.RECORD_SIZE),
    (errors.RecordListTooLargeError, kafka.RECORD_SIZE),
    (errors.UnsupportedVersionError, kafka.VERSION),
]


@pytest.mark.parametrize(("kind", "code"), REFUSALS, ids=[kind.__name__ for kind, _ in REFUSALS])
def test_what_repeating_cannot_change_is_refused(
    kind: type[errors.KafkaError], code: ErrorCode
) -> None:
    # The client's transactions put the name of an error into the text of another one.
    for error in (kind(), errors.KafkaError(f"the transaction failed: {kind.__name__}")):
        found = connector_error(SETTINGS, DOING, error)
        assert found.text == text_of(code, servers=SERVERS, doing=DOING)
        assert type(found) is SinkRefused


def test_everything_else_may_pass() -> None:
    found = connector_error(SETTINGS, DOING, errors.KafkaTimeoutError("no answer"))
    assert found.text == text_of(
        kafka.UNAVAILABLE, servers=SERVERS, doing=DOING, why="KafkaTimeoutError: no answer"
    )
    assert type(found) is SinkUnavailable


def test_limits_that_may_not_be_looked_at() -> None:
    def refuse(**_: object) -> None:
        raise errors.ClusterAuthorizationFailedError

    with capture_logs() as logs:
        check_limits(SETTINGS, replace(KAFKA_CLIENTS, open_admin=refuse))
    assert [log["event"] for log in logs] == [text_of(kafka_limits.NO_LIMITS)]
