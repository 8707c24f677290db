"""The requests of a producer: what happens to them on their way, and how the cluster serves them.

The producer is the product's own. A request may be refused, or served although the connection
breaks before the response; one that gets no response in time may arrive later, when nobody waits.
There is no thread: what the producer's thread would do is done when the producer looks for it.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from kafka import errors
from kafka.protocol.producer import EndTxnResponse, InitProducerIdResponse

from connector.foundation.record_batch import RecordBatch
from connector.kafka.cluster import Network
from connector.kafka.transaction_writer import TransactionWriter
from tests.kafka import broker_socket
from tests.simulation.faults import Call, Fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from connector.kafka.encoded_batch import EncodedBatch, InFlightBatches
    from connector.kafka.transaction_client import TransactionClient
    from connector.kafka.transaction_writer import TransactionInFlight
    from tests.simulation.world import Process, World

_BATCH = Struct(">qiibIhiqqqhii")
# How often one that is late arrives before another request.
_ARRIVES = 0.2


class LateMessages:
    """Requests whose producer does not wait any more; they outlive the process that sent them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._messages: list[Callable[[], object]] = []

    def send(self, message: Callable[[], object]) -> None:
        """Have `message` happen at the other end, later."""
        self._messages.append(message)

    def move(self) -> None:
        """Let one message arrive, whichever; some are lost."""
        random = self._world.random
        self._world.broker.mark_one(random.randrange(1000))
        if self._messages and random.random() < _ARRIVES:
            message = self._messages.pop(random.randrange(len(self._messages)))
            if random.random() * 100 >= self._world.plan.lossy_percent:
                message()


class Requests:
    """The way of a process to the cluster, and back."""

    def __init__(self, process: Process, late: LateMessages) -> None:
        self._process = process
        self._world = process.world
        self._broker = process.world.broker
        self._late = late

    def network(self) -> Network:
        """Return what makes connections."""
        brokers = {broker_socket.NODE: broker_socket.ADDRESS}
        return Network(
            lambda *_: broker_socket.logged_in(self.serve),
            lambda *_: (brokers, broker_socket.logged_in(self.serve)),
            lambda: self._world.now,
            self._world.pass_time,
        )

    def serve(self, request: Any) -> Any:
        """Return the response to a request; raises TimeoutError or ConnectionResetError."""
        random = self._world.random
        kind = request.name.removesuffix("Request")
        call = self._call(kind, request)
        fault = None if call is None else self._process.step(call)
        self._late.move()
        if fault is None and random.random() * 100 < self._world.plan.lossy_percent:
            fault = random.choice((Fault.REFUSED, Fault.LOST, Fault.MOVED))
        if fault is Fault.REFUSED:
            raise ConnectionResetError
        if fault is Fault.LATE:
            self._late.send(lambda: self._response(kind, request))
            raise TimeoutError
        if fault is Fault.MOVED and kind in _MOVED:
            return self._response(kind, request, _MOVED[kind].errno)
        response = self._response(kind, request)
        if fault is Fault.LOST:
            raise ConnectionResetError
        return response

    def _call(self, kind: str, request: Any) -> Call | None:
        if kind == "InitProducerId":
            # Whoever opens a producer has passed the point for the first one.
            return None if request.producer_id < 0 else Call.ABORT
        if kind == "EndTxn":
            return Call.COMMIT if request.committed else Call.ABORT
        return _CALLS[kind]

    def _response(self, kind: str, request: Any, code: int = 0) -> Any:
        serve: Callable[[Any, int], Any] = getattr(self, f"_serve_{_NAMES[kind]}")
        return serve(request, code)

    def _serve_metadata(self, request: Any, _: int) -> Any:
        counts = {name: len(logs) for name, logs in self._broker.topics.items()}
        return broker_socket.metadata(request, counts)

    def _serve_coordinator(self, _request: Any, code: int) -> Any:
        return broker_socket.coordinator(code)

    def _serve_init(self, request: Any, _: int) -> Any:
        seconds = request.transaction_timeout_ms / 1000
        known = request.producer_id, request.producer_epoch
        try:
            producer_id, epoch = self._broker.take_over(
                request.transactional_id, seconds, None if known[0] < 0 else known
            )
        except errors.BrokerResponseError as error:
            return InitProducerIdResponse(error_code=error.errno)
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)

    def _serve_add(self, request: Any, code: int) -> Any:
        producer = request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
        # The coordinator may not have finished the transaction before.
        if not code and self._broker.is_marking(producer[0]) and self._world.random.random() < 0.5:
            code = errors.ConcurrentTransactionsError.errno
        return broker_socket.added(
            request, lambda *place: code or _code(self._broker.add_partition, *producer, place)
        )

    def _serve_produce(self, request: Any, code: int) -> Any:
        return broker_socket.produced(request, lambda *batch: code or self._produced(*batch))

    def _produced(self, topic: str, partition: int, records: bytes) -> int:
        data = bytes(records)
        (*_, first_ms, max_ms, producer_id, epoch, sequence, count) = _BATCH.unpack_from(data)
        batch = RecordBatch(topic, partition, data, count, first_ms, max_ms)
        return _code(self._broker.produce, producer_id, epoch, batch, sequence)

    def _serve_end(self, request: Any, code: int) -> Any:
        def end() -> None:
            self._broker.end_transaction(
                request.producer_id, request.producer_epoch, commit=request.committed
            )

        return EndTxnResponse(error_code=code or _code(end))


_NAMES = {
    "AddPartitionsToTxn": "add",
    "EndTxn": "end",
    "FindCoordinator": "coordinator",
    "InitProducerId": "init",
    "Metadata": "metadata",
    "Produce": "produce",
}
_CALLS = {
    "AddPartitionsToTxn": Call.ADD,
    "FindCoordinator": Call.METADATA,
    "Metadata": Call.METADATA,
    "Produce": Call.PRODUCE,
}
# What a broker says that is not the right one any more.
_MOVED = {
    "AddPartitionsToTxn": errors.NotCoordinatorError,
    "EndTxn": errors.NotCoordinatorError,
    "FindCoordinator": errors.CoordinatorNotAvailableError,
    "Produce": errors.NotLeaderForPartitionError,
}


def _code(request: Callable[..., None], *arguments: Any) -> int:
    try:
        request(*arguments)
    except errors.BrokerResponseError as error:
        return int(error.errno)
    return 0


class SimulatedWriter(TransactionWriter):
    """A writer without a thread, which is as fast or as slow as chance has it."""

    def __init__(
        self, client: TransactionClient, in_flight: InFlightBatches, random: Random
    ) -> None:
        self._random = random
        super().__init__(client, in_flight)

    def _start(self) -> None:
        """There is no thread."""

    def deliver(self, transaction: TransactionInFlight, records: EncodedBatch) -> None:
        """Have a batch written, or leave that for later."""
        super().deliver(transaction, records)
        self._work()

    def end(self, transaction: TransactionInFlight, *, commit: bool) -> None:
        """Have a transaction ended, or leave that for later."""
        super().end(transaction, commit=commit)
        self._work()

    def check(self) -> None:
        """Do the next thing, and raise why that cannot be done."""
        if self._failure is None and self._has_orders:
            self._next_order()
        self._in_flight.notify()
        super().check()

    def close(self) -> None:
        """Do nothing more."""
        self._client.interrupt()

    def _work(self) -> None:
        while self._failure is None and self._has_orders and self._random.random() < 0.5:
            self._next_order()

    def _next_order(self) -> None:
        order = self._taken()
        assert order is not None
        try:
            self._serve(order)
        except Exception as error:  # noqa: BLE001  # whoever looks for it raises it
            self._failure = error
