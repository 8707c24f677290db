"""What Kafka's client raises, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from kafka import errors
from structlog.testing import capture_logs

from connector.foundation.errors import SinkRefused, SinkUnavailable, TransactionOutlasted
from connector.foundation.errors.message import Message
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka import connection_errors
from connector.kafka.failures import TimedOut
from connector.stream.run import run_errors
from connector.stream.sink import connection, kafka_errors
from connector.stream.sink.checks import check_limits
from connector.stream.sink.connection import KAFKA_CLIENTS, connector_error
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode

SERVERS = "kafka-1:9092,kafka-2:9092"
SETTINGS = KafkaSettings(bootstrap_servers=SERVERS.split(","), topic_prefix="shop")
DOING = connection.writing("shop.shop.orders")
REFUSALS = [
    (errors.TopicAuthorizationFailedError, kafka_errors.TOPIC_RIGHTS),
    (errors.ClusterAuthorizationFailedError, kafka_errors.CLUSTER_RIGHTS),
    (errors.TransactionalIdAuthorizationFailedError, kafka_errors.TRANSACTIONAL_RIGHTS),
    (errors.SaslAuthenticationFailedError, kafka_errors.LOGIN),
    (errors.UnsupportedSaslMechanismError, kafka_errors.MECHANISM),
    (errors.InvalidTransactionTimeoutError, kafka_errors.TIMEOUT),
    (errors.InvalidPartitionsError, kafka_errors.PARTITIONS),
    (errors.PolicyViolationError, kafka_errors.POLICY),
    (errors.InvalidTopicError, kafka_errors.TOPIC_NAME),
    (errors.MessageSizeTooLargeError, kafka_errors.RECORD_SIZE),
    (errors.RecordListTooLargeError, kafka_errors.RECORD_SIZE),
    (errors.UnsupportedVersionError, kafka_errors.VERSION),
]


@pytest.mark.parametrize(("kind", "code"), REFUSALS, ids=[kind.__name__ for kind, _ in REFUSALS])
def test_what_repeating_cannot_change_is_refused(
    kind: type[errors.KafkaError], code: ErrorCode
) -> None:
    found = connector_error(SETTINGS, DOING, kind())
    assert found.text == text_of(code, servers=SERVERS, doing=DOING)
    assert type(found) is SinkRefused


def test_everything_else_may_pass() -> None:
    found = connector_error(SETTINGS, DOING, errors.KafkaTimeoutError("no answer"))
    assert found.text == text_of(
        kafka_errors.UNAVAILABLE, servers=SERVERS, doing=DOING, why="KafkaTimeoutError: no answer"
    )
    assert type(found) is SinkUnavailable


def test_an_unknown_error_may_come_from_another_producer_that_takes_over() -> None:
    found = connector_error(SETTINGS, DOING, errors.UnknownError())
    assert isinstance(found, SinkUnavailable)
    assert found.superseded
    away = connector_error(SETTINGS, DOING, errors.KafkaTimeoutError("no answer"))
    assert isinstance(away, SinkUnavailable)
    assert not away.superseded


def test_limits_that_may_not_be_looked_at() -> None:
    def refuse(**_: object) -> None:
        raise errors.ClusterAuthorizationFailedError

    with capture_logs() as logs:
        check_limits(SETTINGS, replace(KAFKA_CLIENTS, open_admin=refuse))
    assert [log["event"] for log in logs] == [text_of(kafka_errors.NO_LIMITS)]


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        (connection_errors.NO_ANSWER_IN_TIME, {"seconds": 60.0}),
        (connection_errors.NOT_ACKNOWLEDGED, {"seconds": 60.0}),
    ],
)
def test_what_takes_too_long_is_said_in_our_words(
    code: ErrorCode, facts: dict[str, object]
) -> None:
    found = connector_error(SETTINGS, DOING, TimedOut(code, **facts))
    assert found.text == text_of(
        kafka_errors.UNAVAILABLE, servers=SERVERS, doing=DOING, why=Message(code, facts)
    )
    assert isinstance(found, SinkUnavailable)
    assert not found.answered


def test_an_open_transaction_is_no_fault_of_the_settings() -> None:
    facts = {"topic": "shop.progress", "end": 7, "partition": 0, "start": 5}
    found = connector_error(SETTINGS, DOING, TimedOut(kafka_errors.OPEN_TRANSACTION, **facts))
    assert isinstance(found, SinkUnavailable)
    assert (found.code, found.text) == (
        kafka_errors.OPEN_TRANSACTION,
        text_of(kafka_errors.OPEN_TRANSACTION, **facts),
    )


@pytest.mark.parametrize(
    ("doing", "code", "what"),
    [
        (connection.creating("a", "b"), connection_errors.CREATE_TOPICS, "create topic a, b"),
        (connection.creating_tables(), connection_errors.CREATE_TABLES, "create topics of tables"),
        (connection.reading("a"), connection_errors.READ_TOPICS, "read topic a"),
        (connection.writing("a"), connection_errors.WRITE_TOPIC, "write to topic a"),
        (connection.taking_over("a"), connection_errors.TAKE_OVER, "take over transactional id a"),
        (connection.committing(), connection_errors.COMMIT, "commit a transaction"),
        (connection.aborting(), connection_errors.ABORT, "abort a transaction"),
        (connection.looking_at_limits(), connection_errors.LOOK_AT_LIMITS, "look at its limits"),
    ],
)
def test_a_text_says_what_was_tried(doing: Message, code: ErrorCode, what: str) -> None:
    assert (doing.code, doing.text) == (code, what)
    refused = connector_error(SETTINGS, doing, errors.UnsupportedVersionError())
    assert refused.text.startswith(f"kafka {SERVERS}: cannot {what}: the brokers are too old; ")


def test_a_transaction_that_lasts_too_long_keeps_its_reason() -> None:
    why = connector_error(SETTINGS, DOING, errors.KafkaTimeoutError("no answer"))
    found = TransactionOutlasted(run_errors.OUTLASTED, "3e11fa47:42", 61.2, why=why)
    assert (
        found.text == f"source transaction 3e11fa47:42 was not delivered in 61 seconds: {why.text}"
    )
    assert found.code is kafka_errors.UNAVAILABLE
