"""Our bytes of requests for offsets are those of kafka-python, which knows every field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kafka import errors
from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    IsolationLevel,
    ListOffsetsRequest,
    ListOffsetsResponse,
)

from connector.kafka.failures import MalformedResponse
from stream_jobs.source.offset_requests import CLIENT_ID, FetchSession, send_list_offsets
from stream_jobs.source.requests import EARLIEST, LATEST

if TYPE_CHECKING:
    from stream_jobs.source.requests import Partition

NUMBER = 0x0102_0304
ONE, TWO, OTHER = ("p.shop.größe", 0), ("p.shop.größe", 3), ("p.shop.t", 1)


class Connection:
    """A broker that keeps requests, and answers with given responses."""

    def __init__(self, *responses: bytes) -> None:
        self.requests: list[bytes] = []
        self._responses = list(responses)

    def next_number(self) -> int:
        return NUMBER

    def send(self, request: bytes) -> None:
        self.requests.append(bytes(request))

    def receive(self) -> bytes:
        return self._responses.pop(0)


def framed(request: Any, version: int) -> bytes:
    request.API_VERSION = version
    request.with_header(correlation_id=NUMBER, client_id=CLIENT_ID)
    return bytes(request.encode(header=True, framed=True))


def answered(response: Any, version: int) -> bytes:
    response.API_VERSION = version
    response.with_header(correlation_id=NUMBER)
    return bytes(response.encode(header=True))


def their_request(which: int, *, committed: bool) -> bytes:
    topic = ListOffsetsRequest.ListOffsetsTopic
    part = topic.ListOffsetsPartition
    return framed(
        ListOffsetsRequest(
            replica_id=-1,
            isolation_level=IsolationLevel(committed),
            topics=[
                topic(
                    name=ONE[0],
                    partitions=[
                        part(partition_index=0, timestamp=which),
                        part(partition_index=3, timestamp=which),
                    ],
                ),
                topic(name=OTHER[0], partitions=[part(partition_index=1, timestamp=which)]),
            ],
        ),
        2,
    )


def offsets_response(code: int = 0) -> bytes:
    topic = ListOffsetsResponse.ListOffsetsTopicResponse
    part = topic.ListOffsetsPartitionResponse

    def found(number: int, offset: int, code: int = 0) -> Any:
        return part(partition_index=number, error_code=code, timestamp=-1, offset=offset)

    topics = [
        topic(name=ONE[0], partitions=[found(0, 5), found(3, 1 << 40)]),
        topic(name=OTHER[0], partitions=[found(1, 0, code)]),
    ]
    return answered(ListOffsetsResponse(throttle_time_ms=9, topics=topics), 2)


@pytest.mark.parametrize(
    ("which", "committed"), [(LATEST, True), (LATEST, False), (EARLIEST, True)]
)
def test_offsets_are_asked_for_and_read(which: int, committed: bool) -> None:
    connection: Any = Connection(offsets_response())
    receive = send_list_offsets(connection, [ONE, OTHER, TWO], which, committed=committed)
    assert connection.requests == [their_request(which, committed=committed)]
    assert receive() == {ONE: 5, TWO: 1 << 40, OTHER: 0}


def test_an_error_of_a_partition_is_raised() -> None:
    connection: Any = Connection(offsets_response(errors.NotLeaderForPartitionError.errno))
    receive = send_list_offsets(connection, [ONE], LATEST, committed=True)
    with pytest.raises(errors.NotLeaderForPartitionError):
        receive()


def fetch_of(
    session: tuple[int, int], positions: dict[Partition, int], gone: dict[str, list[int]]
) -> bytes:
    topic, forgotten = FetchRequest.FetchTopic, FetchRequest.ForgottenTopic
    topics: dict[str, list[Any]] = {}
    for (name, number), offset in positions.items():
        part = topic.FetchPartition(
            partition=number, fetch_offset=offset, log_start_offset=-1, partition_max_bytes=1
        )
        topics.setdefault(name, []).append(part)
    return framed(
        FetchRequest(
            replica_id=-1,
            max_wait_ms=1500,
            min_bytes=1,
            max_bytes=1,
            isolation_level=IsolationLevel.READ_COMMITTED,
            session_id=session[0],
            session_epoch=session[1],
            topics=[topic(topic=name, partitions=parts) for name, parts in topics.items()],
            forgotten_topics_data=[
                forgotten(topic=name, partitions=numbers) for name, numbers in gone.items()
            ],
        ),
        7,
    )


def fetched(session: int, *parts: tuple[Partition, int, bytes | None], code: int = 0) -> bytes:
    topic = FetchResponse.FetchableTopicResponse
    data = topic.PartitionData
    aborted = data.AbortedTransaction(producer_id=4, first_offset=2)
    responses = [
        topic(
            topic=name,
            partitions=[
                data(
                    partition_index=number,
                    error_code=error,
                    high_watermark=9,
                    last_stable_offset=8,
                    log_start_offset=0,
                    aborted_transactions=[aborted] if records else None,
                    records=records,
                )
            ],
        )
        for (name, number), error, records in parts
    ]
    response = FetchResponse(
        throttle_time_ms=0, error_code=code, session_id=session, responses=responses
    )
    return answered(response, 7)


def test_a_session_names_all_partitions_once_and_then_what_has_moved_or_is_gone() -> None:
    connection: Any = Connection(
        fetched(77, (ONE, 0, None), (TWO, 0, b""), (OTHER, 0, b"")),
        fetched(77),
        fetched(77, (TWO, 0, None), (OTHER, 0, b"a batch")),
        fetched(77, (OTHER, 6, None)),
    )
    session = FetchSession(connection)
    every = {ONE: 5, TWO: 6, OTHER: 7}
    said = [session.send(every, 1500)(), session.send(every, 1500)()]
    said.append(session.send({ONE: 8, OTHER: 7}, 1500)())
    # An error of a partition is something new: whoever asks it meets the error.
    said.append(session.send({ONE: 8, OTHER: 7}, 1500)())
    assert said == [False, False, True, True]
    assert connection.requests == [
        fetch_of((0, 0), every, {}),
        fetch_of((77, 1), {}, {}),
        fetch_of((77, 2), {ONE: 8}, {TWO[0]: [TWO[1]]}),
        fetch_of((77, 3), {}, {}),
    ]


@pytest.mark.parametrize("code", [70, 71])
def test_a_session_that_the_broker_has_dropped_begins_again(code: int) -> None:
    connection: Any = Connection(fetched(77), fetched(0, code=code), fetched(78), fetched(78))
    session = FetchSession(connection)
    assert [session.send({ONE: 5}, 1500)() for _ in range(4)] == [False] * 4
    assert connection.requests[1:] == [
        fetch_of((77, 1), {}, {}),
        fetch_of((0, 0), {ONE: 5}, {}),
        fetch_of((78, 1), {}, {}),
    ]


def test_a_broker_without_room_for_a_session_gets_all_partitions_each_time() -> None:
    connection: Any = Connection(fetched(0), fetched(0))
    session = FetchSession(connection)
    assert [session.send({ONE: 5}, 1500)() for _ in range(2)] == [False, False]
    assert connection.requests == [fetch_of((0, 0), {ONE: 5}, {})] * 2


def test_what_is_cut_off_is_malformed() -> None:
    whole = fetched(77, (ONE, 0, b""), (OTHER, 0, b""))
    for size in range(4, len(whole)):
        connection: Any = Connection(whole[:size])
        with pytest.raises(MalformedResponse):
            FetchSession(connection).send({ONE: 5}, 1500)()
    whole = offsets_response()
    for size in range(4, len(whole)):
        connection = Connection(whole[:size])
        with pytest.raises(MalformedResponse):
            send_list_offsets(connection, [ONE], LATEST, committed=True)()
