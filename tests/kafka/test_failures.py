"""Each error code of the table, at each request of a transaction, has what the table says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from kafka import errors
from kafka.protocol.producer import EndTxnResponse, InitProducerIdResponse

from connector.foundation.errors.message import Message
from connector.foundation.kafka_records import NO_HEADERS
from connector.foundation.record_batch import BatchingTarget
from connector.kafka import connection_errors
from connector.kafka.cluster import Cluster, Network
from connector.kafka.encoded_batch import CODECS, EncodedBatch
from connector.kafka.failures import ACTIONS, Action, BrokersUnreachable, action_of, gravest
from connector.kafka.folder import folder_errors
from connector.kafka.transaction_client import TransactionClient
from connector.kafka.transaction_requests import PRODUCE
from tests.kafka import broker_socket
from tests.simulation.test_broker import Batches

INIT, ADD, WRITE, END = "InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn"
METADATA, COORDINATOR = "Metadata", "FindCoordinator"
SETTINGS = {"request_timeout_ms": 20_000, "client_id": "binlog-connector"}
PARTITION = "t", 0
PRODUCER, EPOCH = 1000, 7
CASES = [
    pytest.param(kind, code, action, id=f"{kind}-{errors.for_code(code).__name__}")
    for code, action in ACTIONS.items()
    for kind in (INIT, ADD, WRITE, END)
    # Only batches are numbered.
    if kind == WRITE or code != errors.DuplicateSequenceNumberError.errno
]


class ScriptedBroker:
    """A broker that is alone, and answers one kind of request with an error, mostly once."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.refused = ""
        self.code = 0
        self.refusals = 1

    def serve(self, request: Any) -> Any:
        kind = request.name.removesuffix("Request")
        self.asked[kind] += 1
        code = 0
        if kind == self.refused and self.refusals:
            code = self.code
            self.refusals -= 1
        answers = {
            METADATA: self._metadata,
            COORDINATOR: self._coordinator,
            INIT: self._init,
            ADD: self._add,
            WRITE: self._write,
            END: self._end,
        }
        return answers[kind](request, code)

    def network(self, versions: dict[int, tuple[int, int]]) -> Network:
        return Network(
            lambda *_: broker_socket.logged_in(self.serve, versions),
            lambda *_: (
                {broker_socket.NODE: broker_socket.ADDRESS},
                broker_socket.logged_in(self.serve),
            ),
        )

    def _metadata(self, request: Any, _: int) -> Any:
        return broker_socket.metadata(request, {"t": 1})

    def _coordinator(self, _request: Any, code: int) -> Any:
        return broker_socket.coordinator(code)

    def _init(self, request: Any, code: int) -> Any:
        # An abort names what it follows.
        assert (request.producer_id, request.producer_epoch) in ((-1, -1), (PRODUCER, EPOCH))
        return InitProducerIdResponse(
            error_code=code, producer_id=PRODUCER, producer_epoch=EPOCH + (request.producer_id > 0)
        )

    def _add(self, request: Any, code: int) -> Any:
        return broker_socket.added(request, lambda *_: code)

    def _write(self, request: Any, code: int) -> Any:
        return broker_socket.produced(request, lambda *_: code)

    def _end(self, _request: Any, code: int) -> Any:
        return EndTxnResponse(error_code=code)


@pytest.fixture
def broker() -> ScriptedBroker:
    return ScriptedBroker()


def client_of(
    broker: ScriptedBroker, versions: dict[int, tuple[int, int]] | None = None
) -> TransactionClient:
    cluster = Cluster(SETTINGS, broker.network(versions or {}))
    return TransactionClient(cluster, SETTINGS, "id", 60.0, lambda: None)


def transaction(client: TransactionClient, records: int = 1) -> None:
    received = Batches()
    target = BatchingTarget(received, 1 << 20, 1 << 20, 1 << 20)
    for number in range(records):
        target.take("t", None, b"%d" % number, NO_HEADERS, number)
    target.flush()
    client.add_partitions([PARTITION])
    client.write([EncodedBatch(batch, CODECS["lz4"]) for batch in received.batches])
    assert len(client.acknowledge()) == 1
    client.end(commit=True)


def run(broker: ScriptedBroker, client: TransactionClient | None) -> None:
    """Write a transaction by `client`, or take over without one."""
    if client is None:
        client_of(broker)
    else:
        transaction(client)


@pytest.mark.parametrize(("kind", "code", "action"), CASES)
def test_a_request_has_what_the_table_says(
    broker: ScriptedBroker, kind: str, code: int, action: Action
) -> None:
    client = None
    if kind != INIT:
        client = client_of(broker)
        # The leader is known.
        transaction(client)
        broker.asked.clear()
    broker.refused, broker.code = kind, code
    if action in (Action.GO_ON, Action.RETRY, Action.REFRESH):
        run(broker, client)
        assert broker.asked[kind] == (1 if action is Action.GO_ON else 2)
        coordinators = (kind == INIT) + (kind != WRITE and action is Action.REFRESH)
        assert broker.asked[COORDINATOR] == coordinators
        # Whatever stands in the way of a batch, its leader is looked for.
        assert broker.asked[METADATA] == (kind == WRITE and action is not Action.GO_ON)
        return
    with pytest.raises(errors.for_code(code)) as caught:
        run(broker, client)
    assert broker.asked[kind] == 1
    if client is None:
        return
    assert client.failure is caught.value
    if action is Action.ABORT:
        client.abandon(10.0)
        assert broker.asked[INIT] == 1
    else:
        with pytest.raises(errors.for_code(code)):
            client.abandon(10.0)
        assert broker.asked[INIT] == 0


def test_a_batch_that_is_too_large_is_halved(broker: ScriptedBroker) -> None:
    client = client_of(broker)
    transaction(client)
    broker.asked.clear()
    broker.refused, broker.code = WRITE, errors.MessageSizeTooLargeError.errno
    broker.refusals = 2
    transaction(client, records=3)
    # As it was, once more after a look at the leader, and each half.
    assert broker.asked[WRITE] == 1 + 1 + 2
    assert client.failure is None


def test_the_gravest_code_of_a_response_decides() -> None:
    not_attempted, unknown, refused = (
        errors.OperationNotAttemptedError,
        errors.UnknownTopicOrPartitionError,
        errors.TopicAuthorizationFailedError,
    )
    assert gravest([0, 0]) is None
    assert isinstance(gravest([0, not_attempted.errno, unknown.errno]), unknown)
    assert isinstance(gravest([refused.errno, not_attempted.errno, unknown.errno]), refused)


def test_a_broker_that_is_too_old_is_refused(broker: ScriptedBroker) -> None:
    # Those of Kafka 2.0.
    with pytest.raises(errors.UnsupportedVersionError):
        client_of(broker, {PRODUCE: (0, 6)})
    assert broker.asked[INIT] == 1


def test_what_the_table_does_not_have_ends_the_transaction() -> None:
    assert action_of(errors.for_code(9999)()) is Action.ABORT
    assert action_of(ValueError()) is Action.ABORT


def test_only_the_log_in_a_folder_is_refused_for_good() -> None:
    read_only = Message(folder_errors.READ_ONLY, {"folder": "/log"})
    full = Message(folder_errors.UNUSABLE, {"folder": "/log", "why": "No space left on device"})
    # Its certificate may be renewed.
    broker = Message(connection_errors.CERTIFICATE, {"why": "it has expired"})
    for message, action in (
        (read_only, Action.STOP),
        (full, Action.REFRESH),
        (broker, Action.REFRESH),
    ):
        assert action_of(BrokersUnreachable(message, definite=True)) is action
    assert action_of(ConnectionResetError()) is Action.REFRESH
