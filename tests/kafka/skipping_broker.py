"""A broker as Kafka 4, which leaves out the markers of partitions that have no leader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka import errors
from kafka.protocol.admin import DescribeTransactionsResponse
from kafka.protocol.consumer import IsolationLevel, ListOffsetsResponse
from kafka.protocol.producer import EndTxnResponse, InitProducerIdResponse, ProduceResponse

from connector.kafka.cluster import Network
from connector.kafka.missing_markers import KAFKA_4
from tests.kafka import broker_socket

if TYPE_CHECKING:
    from collections.abc import Callable

PRODUCER = 1000
_VERSIONS = {kind: (0, version) for kind, version in KAFKA_4.items()}
_COUNT_AT = 57
_NO_EPOCH = -1


@dataclass(slots=True)
class PartitionLog:
    """How many records and markers a partition has, and which are still open from where on."""

    end: int = 0
    open_since: int | None = None
    # Of another producer.
    foreign_since: int | None = None
    # Records that a commit and that an abort has ended.
    committed: int = 0
    aborted: int = 0

    @property
    def stable(self) -> int:
        return min(
            self.end if since is None else since for since in (self.open_since, self.foreign_since)
        )


class SkippingBroker:
    """A broker that is alone, with one topic; `network` leads to it, with a clock of its own."""

    def __init__(self, partitions: int) -> None:
        self.logs = {("t", number): PartitionLog() for number in range(partitions)}
        self.asked: list[str] = []
        # Partitions without a leader, and those that lose it while a transaction ends.
        self.leaderless: set[tuple[str, int]] = set()
        self.lost_at_end: set[tuple[str, int]] = set()
        self.state, self.epoch = "Empty", -1
        # How many transactions have begun, for their times.
        self.begun = 0
        # What happens to the next request of a kind: before it is served, and after.
        self.before: dict[str, Callable[[], None]] = {}
        self.after: dict[str, Callable[[], None]] = {}
        self.at_pause: Callable[[], None] = lambda: None
        self._partitions: set[tuple[str, int]] = set()
        # How much time has passed.
        self.seconds = 0.0

    def network(self) -> Network:
        return Network(
            lambda *_: broker_socket.logged_in(self._serve, _VERSIONS),
            lambda *_: (
                {broker_socket.NODE: broker_socket.ADDRESS},
                broker_socket.logged_in(self._serve, _VERSIONS),
            ),
            lambda: self.seconds,
            self._pause,
        )

    def take_over(self, expected: int = _NO_EPOCH) -> int:
        """Serve InitProducerId: return an error code, 0 if the epoch is that of whoever asks."""
        if self.state == "Ongoing":
            # Kafka does not look at the epoch here.
            self.epoch += 1
            self._end(commit=False)
            return int(errors.ConcurrentTransactionsError.errno)
        # It does not remember which epoch was the one before.
        if expected not in (_NO_EPOCH, self.epoch):
            return int(errors.ProducerFencedError.errno)
        self.epoch += 1
        self.state = "Empty"
        return 0

    def hold_markers(self) -> None:
        """Go back to before the markers of an abort, as far as others are told."""
        self.state = "PrepareAbort"

    def write_markers(self) -> None:
        self.state = "CompleteAbort"

    def _pause(self, seconds: float) -> None:
        self.seconds += seconds
        self.at_pause()

    def _serve(self, request: Any) -> Any:
        kind = request.name.removesuffix("Request")
        self.asked.append(kind)
        self.before.pop(kind, lambda: None)()
        serve = {
            "AddPartitionsToTxn": self._serve_add,
            "DescribeTransactions": self._serve_state,
            "EndTxn": self._serve_end,
            "FindCoordinator": lambda _: broker_socket.coordinator(0),
            "InitProducerId": self._serve_init,
            "ListOffsets": self._serve_offsets,
            "Metadata": self._serve_metadata,
            "Produce": self._serve_produce,
        }
        response = serve[kind](request)
        self.after.pop(kind, lambda: None)()
        return response

    def _serve_metadata(self, request: Any) -> Any:
        response = broker_socket.metadata(request, {"t": len(self.logs)} if self.logs else {})
        for topic in response.topics:
            for one in topic.partitions:
                if (topic.name, one.partition_index) in self.leaderless:
                    one.leader_id = -1
        return response

    def _serve_init(self, request: Any) -> Any:
        code = self.take_over(request.producer_epoch)
        return InitProducerIdResponse(
            error_code=code, producer_id=PRODUCER, producer_epoch=self.epoch
        )

    def _serve_state(self, request: Any) -> Any:
        state = DescribeTransactionsResponse.TransactionState
        topics = [
            state.TopicData(topic=topic, partitions=[number])
            for topic, number in sorted(self._partitions)
        ]
        (name,) = request.transactional_ids
        return DescribeTransactionsResponse(
            transaction_states=[
                state(
                    transactional_id=name,
                    transaction_state=self.state,
                    producer_id=PRODUCER,
                    producer_epoch=self.epoch,
                    transaction_start_time_ms=-1 if self.state == "Empty" else self.begun,
                    topics=topics,
                )
            ]
        )

    def _serve_add(self, request: Any) -> Any:
        code = self._refusal(request.v3_and_below_producer_epoch)
        if not code:
            self.begun += self.state != "Ongoing"
            self.state = "Ongoing"
            self._partitions |= {
                (topic.name, number)
                for topic in request.v3_and_below_topics
                for number in topic.partitions
            }
        return broker_socket.added(request, lambda *_: code)

    def _serve_produce(self, request: Any) -> Any:
        topic_of = ProduceResponse.TopicProduceResponse
        topics = []
        for topic in request.topic_data:
            rows = []
            for part in topic.partition_data:
                log = self.logs[topic.name, part.index]
                begin = log.end
                log.end += int.from_bytes(bytes(part.records)[_COUNT_AT:][:4])
                if log.open_since is None:
                    log.open_since = begin
                rows.append(topic_of.PartitionProduceResponse(index=part.index, base_offset=begin))
            topics.append(topic_of(name=topic.name, partition_responses=rows))
        return ProduceResponse(responses=topics)

    def _serve_end(self, request: Any) -> Any:
        code = self._refusal(request.producer_epoch)
        if not code:
            self._end(commit=request.committed)
        return EndTxnResponse(error_code=code)

    def _serve_offsets(self, request: Any) -> Any:
        committed = request.isolation_level == IsolationLevel.READ_COMMITTED
        topic_of = ListOffsetsResponse.ListOffsetsTopicResponse
        topics = []
        for topic in request.topics:
            rows = []
            for one in topic.partitions:
                log = self.logs[topic.name, one.partition_index]
                rows.append(
                    topic_of.ListOffsetsPartitionResponse(
                        partition_index=one.partition_index,
                        offset=log.stable if committed else log.end,
                    )
                )
            topics.append(topic_of(name=topic.name, partitions=rows))
        return ListOffsetsResponse(topics=topics)

    def _refusal(self, epoch: int) -> int:
        return 0 if epoch == self.epoch else int(errors.InvalidProducerEpochError.errno)

    def _end(self, *, commit: bool) -> None:
        self.state = "CompleteCommit" if commit else "CompleteAbort"
        for each in self._partitions - self.leaderless - self.lost_at_end:
            if each in self.logs:
                self._mark(self.logs[each], commit=commit)
        self._partitions.clear()
        self.lost_at_end = set()

    def _mark(self, log: PartitionLog, *, commit: bool) -> None:
        ended = 0 if log.open_since is None else log.end - log.open_since
        log.open_since = None
        log.end += 1
        if commit:
            log.committed += ended
        else:
            log.aborted += ended
