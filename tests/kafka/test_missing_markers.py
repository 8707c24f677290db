"""An abort leaves no partition open where Kafka 4 leaves its marker out, and loses no commit."""

from __future__ import annotations

from functools import partial

import pytest
from kafka import errors
from structlog.testing import capture_logs

from connector.foundation.kafka_records import NO_HEADERS
from connector.foundation.record_batch import BatchingTarget, RecordBatch
from connector.kafka import connection_errors
from connector.kafka.cluster import Cluster
from connector.kafka.encoded_batch import CODECS, EncodedBatch
from connector.kafka.failures import TimedOut
from connector.kafka.transaction_client import TransactionClient
from tests.kafka.skipping_broker import SkippingBroker
from tests.kafka.test_failures import SETTINGS
from tests.simulation.test_broker import Batches

FIRST, SECOND = PARTITIONS = [("t", 0), ("t", 1)]


@pytest.fixture
def broker() -> SkippingBroker:
    return SkippingBroker(len(PARTITIONS))


def client_of(broker: SkippingBroker) -> TransactionClient:
    cluster = Cluster(SETTINGS, broker.network())
    return TransactionClient(cluster, SETTINGS, "id", 60.0, lambda: None)


def write(client: TransactionClient, records: int = 1) -> None:
    """Write so many records to each partition."""
    client.add_partitions(PARTITIONS)
    received = Batches()
    target = BatchingTarget(received, 1 << 20, 1 << 20, 1 << 20)
    for number in range(records):
        target.take("t", None, b"%d" % number, NO_HEADERS, number)
    target.flush()
    (batch,) = received.batches
    times = batch.first_timestamp_ms, batch.max_timestamp_ms
    client.write(
        EncodedBatch(RecordBatch(*each, batch.data, batch.count, *times), CODECS["none"])
        for each in PARTITIONS
    )
    client.acknowledge()


def warmed(broker: SkippingBroker) -> TransactionClient:
    """Return a client that has committed a record to each partition."""
    client = client_of(broker)
    write(client)
    client.end(commit=True)
    return client


def lose() -> None:
    raise TimeoutError


def fail_at_end(client: TransactionClient) -> None:
    with pytest.raises(TimedOut):
        client.end(commit=True)


def open_partitions(broker: SkippingBroker) -> list[tuple[str, int]]:
    return [each for each, log in broker.logs.items() if log.open_since is not None]


def test_a_marker_that_was_left_out_is_written_after_the_abort(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client, records=3)
    broker.lost_at_end = {SECOND}
    client.abandon(10.0)
    assert open_partitions(broker) == []
    assert [log.aborted for log in broker.logs.values()] == [3, 3]
    # Only where it was missing.
    assert [log.end for log in broker.logs.values()] == [2 + 3 + 1, 2 + 3 + 1]
    assert broker.asked.count("AddPartitionsToTxn") == 3
    # A producer that takes over writes as usual.
    write(successor := client_of(broker))
    successor.end(commit=True)
    assert [log.committed for log in broker.logs.values()] == [2, 2]


def test_an_abort_of_which_all_markers_are_there_asks_no_more_than_that(
    broker: SkippingBroker,
) -> None:
    client = warmed(broker)
    write(client)
    broker.asked.clear()
    client.abandon(10.0)
    assert open_partitions(broker) == []
    assert broker.asked.count("ListOffsets") == 2
    assert "AddPartitionsToTxn" not in broker.asked


def test_an_abort_waits_for_leaders(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.leaderless = {SECOND}
    broker.asked.clear()
    with pytest.raises(errors.LeaderNotAvailableError):
        client.abandon(10.0)
    assert "InitProducerId" not in broker.asked
    broker.at_pause = broker.leaderless.clear
    client.abandon(10.0)
    assert open_partitions(broker) == []
    assert [log.aborted for log in broker.logs.values()] == [1, 1]


def test_an_abort_in_order_waits_for_leaders(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.leaderless = {SECOND}
    broker.at_pause = broker.leaderless.clear
    client.end(commit=False)
    assert open_partitions(broker) == []


def test_an_abort_in_order_is_marked(broker: SkippingBroker) -> None:
    client = client_of(broker)
    write(client, records=3)
    broker.lost_at_end = {SECOND}
    client.end(commit=False)
    assert open_partitions(broker) == []
    assert [log.aborted for log in broker.logs.values()] == [3, 3]
    assert [log.end for log in broker.logs.values()] == [3 + 1, 3 + 1]
    # The producer goes on.
    write(client)
    client.end(commit=True)
    assert [log.committed for log in broker.logs.values()] == [1, 1]


def test_markers_that_are_still_being_written_are_waited_for(broker: SkippingBroker) -> None:
    client = client_of(broker)
    write(client)
    broker.after["EndTxn"] = broker.hold_markers
    broker.at_pause = broker.write_markers
    broker.asked.clear()
    client.end(commit=False)
    assert broker.asked.count("ListOffsets") == 2
    assert "AddPartitionsToTxn" not in broker.asked


def test_a_takeover_waits_for_the_leaders_of_an_open_transaction(broker: SkippingBroker) -> None:
    write(warmed(broker))
    broker.leaderless = {SECOND}
    broker.at_pause = broker.leaderless.clear
    client_of(broker)
    assert open_partitions(broker) == []


def test_a_takeover_ends_what_is_open_beside_a_partition_that_has_lost_its_leader_for_good(
    broker: SkippingBroker,
) -> None:
    write(warmed(broker))
    broker.leaderless = {SECOND}
    with capture_logs() as lines:
        client_of(broker)
    assert open_partitions(broker) == [SECOND]
    (line,) = [line for line in lines if line["log_level"] == "warning"]
    assert line["code"] == connection_errors.NO_LEADER.code
    assert "partition t-1" in line["event"]
    request_seconds = Cluster(SETTINGS, broker.network()).request_seconds
    assert broker.seconds == pytest.approx(request_seconds, abs=0.2)


def test_a_takeover_without_an_open_transaction_waits_for_nothing(broker: SkippingBroker) -> None:
    warmed(broker)
    broker.leaderless = {SECOND}
    client_of(broker)


def test_partitions_of_a_deleted_topic_need_no_marker(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.logs.clear()
    client.abandon(10.0)
    assert broker.state == "Empty"


def test_rows_whose_commit_got_no_marker_are_not_aborted(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.lost_at_end = {SECOND}
    client.end(commit=True)
    write(client, records=3)
    broker.lost_at_end = {SECOND}
    client.abandon(10.0)
    assert open_partitions(broker) == [SECOND]
    assert [log.aborted for log in broker.logs.values()] == [3, 0]
    # Duplicates are better than a loss.
    write(successor := client_of(broker))
    successor.end(commit=True)
    assert broker.logs[SECOND].committed == 1 + 1 + 3 + 1


def test_a_commit_that_nobody_has_heard_of_is_not_aborted(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.lost_at_end = {SECOND}
    broker.after["EndTxn"] = lose
    fail_at_end(client)
    client.abandon(10.0)
    assert open_partitions(broker) == [SECOND]
    assert [log.aborted for log in broker.logs.values()] == [0, 0]


def test_a_commit_that_has_not_arrived_is_aborted(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.before["EndTxn"] = lose
    fail_at_end(client)
    broker.lost_at_end = {SECOND}
    client.abandon(10.0)
    assert open_partitions(broker) == []
    assert [log.aborted for log in broker.logs.values()] == [1, 1]


def test_the_first_transaction_of_a_producer_is_marked(broker: SkippingBroker) -> None:
    warmed(broker)
    client = client_of(broker)
    write(client, records=3)
    broker.lost_at_end = {SECOND}
    client.abandon(10.0)
    assert open_partitions(broker) == []
    assert [log.aborted for log in broker.logs.values()] == [3, 3]


def test_what_the_producer_before_has_committed_is_not_aborted(broker: SkippingBroker) -> None:
    before = client_of(broker)
    write(before)
    broker.lost_at_end = {SECOND}
    before.end(commit=True)
    client = client_of(broker)
    write(client, records=3)
    broker.lost_at_end = {SECOND}
    client.abandon(10.0)
    assert open_partitions(broker) == [SECOND]
    assert broker.logs[SECOND].aborted == 0


def test_a_partition_of_which_nothing_is_known_is_left_alone(broker: SkippingBroker) -> None:
    client = client_of(broker)
    broker.after["Produce"] = lose
    with pytest.raises(TimedOut):
        write(client)
    broker.lost_at_end = {SECOND}
    client.abandon(10.0)
    # What the producer before has committed may be open there.
    assert open_partitions(broker) == [SECOND]


def test_the_open_transaction_of_another_producer_is_not_waited_for(
    broker: SkippingBroker,
) -> None:
    client = warmed(broker)
    log = broker.logs[SECOND]
    log.foreign_since, log.end = log.end, log.end + 1
    write(client)
    broker.asked.clear()
    client.abandon(10.0)
    assert open_partitions(broker) == []
    assert broker.asked.count("AddPartitionsToTxn") == 3


def test_an_abort_of_which_the_answer_was_lost_is_marked(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.lost_at_end = {SECOND}
    broker.after["InitProducerId"] = lose
    client.abandon(10.0)
    assert open_partitions(broker) == []


def test_a_transaction_that_has_taken_too_long_is_marked(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.lost_at_end = {SECOND}
    # The coordinator ends it as if somebody took over.
    broker.take_over()
    client.abandon(10.0)
    assert open_partitions(broker) == []


def succeed(broker: SkippingBroker) -> None:
    """Take over as another producer."""
    while broker.take_over():
        continue


@pytest.mark.parametrize("is_asked", [False, True], ids=["before", "meanwhile"])
def test_a_successor_is_not_fenced(broker: SkippingBroker, is_asked: bool) -> None:
    client = warmed(broker)
    write(client)
    if is_asked:
        broker.after["InitProducerId"] = partial(succeed, broker)
        client.abandon(10.0)
    else:
        succeed(broker)
        with pytest.raises(errors.ProducerFencedError):
            client.abandon(10.0)
    # That of the abort, and the successor's.
    assert broker.epoch == 2


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_a_successor_of_an_end_without_an_answer_is_not_fenced(
    broker: SkippingBroker, commit: bool
) -> None:
    client = warmed(broker)
    write(client)
    broker.after["EndTxn"] = lose
    with pytest.raises(TimedOut):
        client.end(commit=commit)
    successor = client_of(broker)
    with pytest.raises(errors.ProducerFencedError):
        client.abandon(10.0)
    write(successor)
    successor.end(commit=True)
    assert [log.committed for log in broker.logs.values()] == [2 + commit] * 2


def test_an_open_transaction_of_a_successor_is_not_aborted(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    write(successor := client_of(broker))
    with pytest.raises(errors.ProducerFencedError):
        client.abandon(10.0)
    successor.end(commit=True)
    assert [log.committed for log in broker.logs.values()] == [2, 2]


def test_a_commit_is_not_taken_for_the_abort_of_a_successor(broker: SkippingBroker) -> None:
    client = warmed(broker)
    write(client)
    broker.lost_at_end = {SECOND}
    broker.after["EndTxn"] = lose
    fail_at_end(client)
    write(successor := client_of(broker))
    broker.lost_at_end = {SECOND}
    successor.end(commit=False)
    with pytest.raises(errors.ProducerFencedError):
        client.abandon(10.0)
    assert open_partitions(broker) == [SECOND]
    assert broker.logs[SECOND].aborted == 0
