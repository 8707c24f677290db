"""Transactions survive every failure: small ones in the caller's thread, large ones in another."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError
from kafka.protocol.producer import InitProducerIdRequest
from structlog.testing import capture_logs

from connector.foundation.errors import SinkUnavailable, Superseded
from connector.kafka import cluster
from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.failures import Action, action_of
from connector.kafka.transaction_requests import (
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    PRODUCE,
    VERSIONS,
    Broker,
)
from connector.stream.sink import kafka_errors
from connector.stream.sink.connection import Interrupted
from connector.stream.sink.recovery import RecoveredState
from tests.integration.harness import wait_until, wait_until_settled
from tests.integration.sink.commits import PROGRESS, commit, keys, publish
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from connector.kafka.transaction_requests import PartitionId
    from connector.stream.sink.kafka_sink import KafkaSink
    from local_stack import KafkaBroker

    Open = Callable[..., KafkaSink]

pytestmark = pytest.mark.kafka

# Of all partitions; their repeated keys are left out of what is compared.
WARM = range(1000, 1010)
# Bytes of a record of a small and of a large transaction, with three of them.
SMALL, LARGE = 100, 150_000

of_each_size = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])


def warm(sink: KafkaSink, prefix: str) -> None:
    """Commit once, so that all connections are open."""
    publish(sink, prefix, WARM)
    commit(sink, PROGRESS)


def delivered(broker: KafkaBroker, prefix: str) -> list[int]:
    """Return what was committed after the warm-up, once no transaction is open."""
    wait_until_settled(broker.endpoint, prefix)
    return [key for key in keys(broker, prefix) if key not in WARM]


class Cable:
    """A socket that `at_request` may cut before or after a request of one kind."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.kind = -1
        self.before: Callable[[], None] | None = None
        self.after: Callable[[], None] | None = None

    def sendall(self, data: bytes) -> None:
        met = int.from_bytes(data[4:6]) == self.kind
        if met and self.before is not None:
            self.before()
        self._real.sendall(data)
        if met and self.after is not None:
            self.after()

    def cut(self) -> None:
        """Let the response go nowhere, and the request perhaps arrive."""
        self._real.close()
        raise ConnectionResetError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def cable_of(sink: KafkaSink) -> Cable:
    """Return the cable of a sink that has one broker and has committed."""
    producer: Any = sink._producer
    (broker,) = producer._client._brokers.values()
    broker.connection._socket = cable = Cable(broker.connection._socket)
    return cable


def interrupt_commit(
    sink: KafkaSink, prefix: str, size: int = SMALL, at_end: Callable[[], None] = lambda: None
) -> None:
    """Fail a commit of three records before its end is asked for; `at_end` is called there."""
    cable = cable_of(sink)
    cable.kind = END_TXN
    reason = SinkUnavailable(kafka_errors.TOPIC_DELETED, servers="", topic="")

    def interrupt() -> None:
        at_end()
        producer: Any = sink._producer
        producer.interrupt(Interrupted(reason))
        cable.cut()

    cable.before = interrupt
    publish(sink, prefix, range(3), size)
    with pytest.raises(SinkUnavailable):
        commit(sink, PROGRESS)


def test_transactions_of_every_size_and_aborts_follow_each_other(
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
) -> None:
    written = threading.Event()
    sink = open_sink()
    warm(sink, prefix)
    cable = cable_of(sink)
    cable.kind, cable.before = PRODUCE, written.set
    publish(sink, prefix, range(3))
    commit(sink, PROGRESS)
    publish(sink, prefix, range(3, 8), size=100_000)
    commit(sink, PROGRESS)
    publish(sink, prefix, range(8, 10))
    commit(sink, PROGRESS)
    publish(sink, prefix, range(10, 12))
    sink.abort()
    written.clear()
    publish(sink, prefix, range(12, 24), size=100_000)
    # It has left the sink before it is aborted: what Kafka has not seen needs no end.
    assert written.wait(20)
    sink.abort()
    publish(sink, prefix, range(24, 26))
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == [*range(10), 24, 25]
    assert sink.in_flight_bytes == 0


@of_each_size
@pytest.mark.parametrize("arrives", [False, True], ids=["lost", "arrived"])
@pytest.mark.parametrize(
    "kind", [ADD_PARTITIONS_TO_TXN, PRODUCE, END_TXN], ids=["add", "produce", "end"]
)
def test_a_connection_that_breaks_loses_and_repeats_nothing(
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
    size: int,
    kind: int,
    arrives: bool,
) -> None:
    sink = open_sink()
    warm(sink, prefix)
    publish(sink, prefix, range(3), size)
    commit(sink, PROGRESS)
    cable = cable_of(sink)
    cable.kind = kind
    if arrives:
        cable.after = cable.cut
    else:
        cable.before = cable.cut
    publish(sink, prefix, range(3, 6), size)
    commit(sink, PROGRESS)
    publish(sink, prefix, range(6, 9), size)
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(9))
    assert sink.recover() == RecoveredState(PROGRESS, {}, {}, {}, has_run=True)


@of_each_size
def test_a_broker_that_knows_no_next_epoch_aborts_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
    size: int,
) -> None:
    # As those before Kafka 2.5.
    class OldConnection(BrokerConnection):
        def knows(self, versions: Mapping[int, int]) -> bool:
            return versions is VERSIONS

    monkeypatch.setattr(cluster, "BrokerConnection", OldConnection)
    sink = open_sink(transaction_timeout_seconds=300)
    warm(sink, prefix)
    interrupt_commit(sink, prefix, size)
    sink.abandon()
    assert delivered(kafka_broker, prefix) == []


@of_each_size
def test_a_leader_that_is_not_known_is_looked_for(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker, size: int
) -> None:
    sink = open_sink()
    warm(sink, prefix)
    producer: Any = sink._producer
    producer._cluster._leaders = {}
    producer._client._coordinator_node = 77
    publish(sink, prefix, range(3), size)
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(3))


@pytest.mark.parametrize(
    "size", [pytest.param(SMALL, marks=full_only), LARGE], ids=["small", "large"]
)
def test_a_broker_that_is_killed_between_records_and_commit_loses_nothing(
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
    size: int,
) -> None:
    sink = open_sink(transaction_timeout_seconds=60)
    warm(sink, prefix)
    publish(sink, prefix, range(3), size)
    commit(sink, PROGRESS)
    # A broker that is alone and killed before it has marked a commit never marks it.
    wait_until_settled(kafka_broker.endpoint, prefix)
    cable = cable_of(sink)
    cable.kind = END_TXN
    killed = threading.Event()

    def kill() -> None:
        kafka_broker.kill()
        killed.set()

    def restart() -> None:
        if killed.wait(60):
            kafka_broker.start()

    cable.before = kill
    publish(sink, prefix, range(3, 6), size)
    with ThreadPoolExecutor(1) as pool:
        restarted = pool.submit(restart)
        commit(sink, PROGRESS)
        restarted.result()
    assert delivered(kafka_broker, prefix) == list(range(6))


@of_each_size
@pytest.mark.parametrize(
    "kind", [ADD_PARTITIONS_TO_TXN, PRODUCE, END_TXN], ids=["add", "produce", "end"]
)
def test_a_producer_that_is_fenced_on_the_way_commits_nothing_more(
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
    size: int,
    kind: int,
) -> None:
    sink = open_sink()
    warm(sink, prefix)
    cable = cable_of(sink)
    cable.kind = kind
    successors = []

    def take_over() -> None:
        successors.append(open_sink("b"))
        cable.kind = -1

    cable.before = take_over
    publish(sink, prefix, range(3), size)
    with pytest.raises((Superseded, SinkUnavailable)) as caught:
        commit(sink, PROGRESS)
    error = caught.value
    assert isinstance(error, Superseded) or (
        isinstance(error, SinkUnavailable) and error.superseded
    )
    sink.abandon()
    (successor,) = successors
    publish(successor, prefix, range(3, 5), size)
    commit(successor, PROGRESS)
    assert delivered(kafka_broker, prefix) == [3, 4]


def stop(pid: int) -> None:
    """Stop every thread of a process, and wait until they stand."""
    os.kill(pid, signal.SIGSTOP)
    stat = Path(f"/proc/{pid}/stat")
    wait_until(
        lambda: stat.read_text().rpartition(") ")[2][0] == "T", lambda: "the broker does not stop"
    )


def aborts(sink: KafkaSink) -> bool:
    """Return whether Kafka aborts what a sink has left open; raise unless it may do so later."""
    producer: Any = sink._producer
    try:
        producer.abort_transaction()
    except (KafkaError, OSError) as error:
        if action_of(error) not in (Action.RETRY, Action.REFRESH):
            raise
        return False
    return True


def delivered_again(broker: KafkaBroker, prefix: str) -> list[int]:
    """Return what `delivered` does, once a broker that stood still leads its topics for so long."""
    found: list[list[int]] = []

    def is_read() -> bool:
        with suppress(KafkaError):
            found.append(delivered(broker, prefix))
        return bool(found)

    wait_until(is_read, lambda: "the broker does not lead its topics")
    return found[0]


@of_each_size
@pytest.mark.parametrize(
    "kind",
    [pytest.param(ADD_PARTITIONS_TO_TXN, marks=full_only), PRODUCE, END_TXN],
    ids=["add", "produce", "end"],
)
def test_a_broker_that_stands_still_leaves_no_transaction_open(
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
    size: int,
    kind: int,
) -> None:
    sink = open_sink(request_timeout_seconds=4, transaction_timeout_seconds=300)
    warm(sink, prefix)
    cable = cable_of(sink)
    cable.kind = kind
    cable.before = lambda: stop(kafka_broker.pid)
    publish(sink, prefix, range(3), size)
    try:
        with pytest.raises(SinkUnavailable):
            commit(sink, PROGRESS)
    finally:
        os.kill(kafka_broker.pid, signal.SIGCONT)
    # A broker that stood still leads nothing for a while; on a busy machine that takes longer than
    # one attempt to abort.
    wait_until(lambda: aborts(sink), lambda: "the broker does not come back")
    sink.close()
    # All or nothing, and long before the transaction's time is up.
    assert delivered_again(kafka_broker, prefix) in ([], [0, 1, 2])
    successor = open_sink("b")
    publish(successor, prefix, range(3, 5), size)
    commit(successor, PROGRESS)
    assert delivered(kafka_broker, prefix) in ([3, 4], [0, 1, 2, 3, 4])


def test_a_transaction_that_a_lost_answer_has_aborted_is_aborted(
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink = open_sink(transaction_timeout_seconds=300)
    warm(sink, prefix)
    lost: list[int] = []

    class LossyConnection(BrokerConnection):
        def ask(self, request: Any) -> Any:
            answer = super().ask(request)
            if type(request) is InitProducerIdRequest and not lost:
                lost.append(answer.error_code)
                wait_until_settled(kafka_broker.endpoint, prefix)
                # Then it does not know any more which epoch was the one before.
                kafka_broker.kill()
                kafka_broker.start()
                raise TimeoutError
            return answer

    interrupt_commit(
        sink,
        prefix,
        at_end=lambda: monkeypatch.setattr(cluster, "BrokerConnection", LossyConnection),
    )
    wait_until(lambda: aborts(sink), lambda: "Kafka does not abort")
    assert len(lost) == 1
    assert delivered(kafka_broker, prefix) == []


@contextmanager
def unverified(broker: KafkaBroker) -> Iterator[None]:
    """Have a broker write batches to partitions that no transaction has."""
    setting = "transaction.partition.verification.enable"
    with closing(KafkaAdminClient(bootstrap_servers=broker.endpoint.bootstrap)) as admin:

        def verify(value: str) -> None:
            changed = ConfigResource(ConfigResourceType.BROKER, "1", configs={setting: value})
            admin.alter_configs([changed])
            asked = ConfigResource(ConfigResourceType.BROKER, "1", configs=[setting])

            def is_applied() -> bool:
                (found,) = admin.describe_configs([asked], config_filter="all").values()
                return bool(found["1"][setting]["value"] == value)

            # It refuses batches that arrive meanwhile.
            wait_until(is_applied, lambda: "the broker does not apply the setting")

        verify("false")
        yield
        verify("true")


@pytest.mark.broker("a marker that is left out")
def test_a_partition_without_the_marker_of_an_abort_gets_it(
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
) -> None:
    sink = open_sink(transaction_timeout_seconds=300)
    warm(sink, prefix)
    unknown = f"{prefix}.db.t", 0

    class ForgetfulBroker(Broker):
        def add_partitions(self, partitions: tuple[PartitionId, ...]) -> dict[PartitionId, int]:
            assert unknown in partitions
            others = tuple(partition for partition in partitions if partition != unknown)
            return super().add_partitions(others) | {unknown: 0}

    # The coordinator then has no marker written there, as if it took the partition for deleted.
    with unverified(kafka_broker):
        producer: Any = sink._producer
        client = producer._client
        ((node, broker),) = client._brokers.items()
        client._brokers[node] = ForgetfulBroker(broker.connection, client._owner)
        interrupt_commit(sink, prefix)
    sink.abandon()
    assert delivered(kafka_broker, prefix) == []
    successor = open_sink("b")
    publish(successor, prefix, range(3, 5))
    commit(successor, PROGRESS)
    assert delivered(kafka_broker, prefix) == [3, 4]


def test_a_transaction_that_stays_open_is_told(
    open_sink: Open,
    prefix: str,
    kafka_broker: KafkaBroker,
) -> None:
    sink = open_sink(request_timeout_seconds=1, transaction_timeout_seconds=1)
    warm(sink, prefix)
    cable = cable_of(sink)
    cable.kind = PRODUCE
    cable.before = lambda: stop(kafka_broker.pid)
    publish(sink, prefix, range(3))
    try:
        with pytest.raises(SinkUnavailable):
            commit(sink, PROGRESS)
        with capture_logs() as lines:
            sink.abandon()
    finally:
        os.kill(kafka_broker.pid, signal.SIGCONT)
    (line,) = [line for line in lines if line["log_level"] == "warning"]
    assert line["code"] == kafka_errors.STAYS_OPEN.code
