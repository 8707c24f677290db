"""The log in a folder as the cluster of the simulation, beside the model of a broker.

Each request goes to both. The log decides: the ids of producers, offsets and refusals are its own.
What it answers must be what the model says, and so must what a consumer of committed records reads
in the end. Now and then, the process that serves the folder is killed, and another one opens it.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, TypeVar

from kafka import errors

from connector.foundation.record_batch import RecordBatch
from connector.kafka.folder.batches import header_of
from connector.kafka.folder.folder_log import FolderLog
from tests.simulation.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from connector.foundation.kafka_records import Record
    from tests.simulation.broker import PartitionId, Transaction

_Result = TypeVar("_Result")

# Of so many moves of late messages, one kills the process that serves.
_MOVES_OF_A_LIFE = 7
_LENGTH = Struct(">qi")
_ALL_BYTES = 1 << 30


class FolderCluster(Broker):
    """A cluster whose log is in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._log = self._opened()
        self._moves = 0
        self.openings = 1
        # What the log and the model answered differently.
        self.differences: list[str] = []

    def create_topic(self, name: str, partitions: int) -> None:
        if name not in self.topics:
            self._log.create_topic(name, partitions, {})
        super().create_topic(name, partitions)

    def take_over(
        self,
        transactional_id: str,
        timeout_seconds: float,
        following: tuple[int, int] | None = None,
    ) -> tuple[int, int]:
        """Do what the model does; a repeated request gets the epoch that it has got before."""
        timeout_ms = round(timeout_seconds * 1000)
        taken = self._answer(
            lambda: self._log.init_producer(transactional_id, timeout_ms, following)
        )
        identity = self._identities.get(transactional_id)
        if isinstance(taken, errors.BrokerResponseError):
            self._refused("take over", lambda: self._require_newest(transactional_id, following))
            raise taken
        if identity is None or taken != (identity.producer_id, identity.epoch):
            super().take_over(transactional_id, timeout_seconds)
            identity = self._identities[transactional_id]
            self._by_producer.pop(identity.producer_id)
            identity.producer_id, identity.epoch = taken
            self._by_producer[identity.producer_id] = identity
        return taken

    def add_partition(self, producer_id: int, epoch: int, partition_id: PartitionId) -> None:
        name = self._transactional_id(producer_id)
        self._both(
            "add",
            lambda: self._log.add_to_transaction(name, producer_id, epoch, [partition_id]),
            lambda: super(FolderCluster, self).add_partition(producer_id, epoch, partition_id),
        )

    def produce(self, producer_id: int, epoch: int, batch: RecordBatch, sequence: int) -> None:
        name = self._transactional_id(producer_id)
        place = batch.topic, batch.partition
        duplicates = self.duplicates
        end = self.partition(place).end

        def append() -> None:
            try:
                offset = self._log.append(place, batch.data, name)
            except errors.DuplicateSequenceNumberError:
                # It knows the newest five batches, the model all of them.
                return
            offsets.append(offset)

        offsets: list[int] = []
        self._both(
            "produce",
            append,
            lambda: super(FolderCluster, self).produce(producer_id, epoch, batch, sequence),
        )
        if offsets and duplicates == self.duplicates and offsets != [end]:
            self.differences.append(f"produce: at {offsets} instead of {end}")

    def end_transaction(self, producer_id: int, epoch: int, *, commit: bool) -> None:
        name = self._transactional_id(producer_id)
        self._both(
            "end",
            lambda: self._log.end_transaction(name, producer_id, epoch, commit=commit),
            lambda: super(FolderCluster, self).end_transaction(producer_id, epoch, commit=commit),
        )

    def pass_time(self, seconds: float) -> None:
        super().pass_time(seconds)
        self._log.end_late_transactions()
        self._log.clean()
        for name, producer in self._log._core.state.transactional.items():
            self._identities[name].epoch = producer.epoch

    def mark_one(self, number: int) -> None:
        """Let time go on at the folder: partitions learn of an end at once."""
        super().mark_one(number)
        self._moves += 1
        if self._moves % _MOVES_OF_A_LIFE == 0:
            self._log._core.journal.close()
            self._log.forget()
            self._log = self._opened()
            self.openings += 1

    def settle(self) -> None:
        """Compare everything, and close the folder."""
        super().settle()
        self._log.sync()
        for name, partitions in self.topics.items():
            for number in range(len(partitions)):
                expected = super().visible((name, number))
                found = self._committed((name, number))
                if found != expected:
                    self.differences.append(f"{name} {number}: {found} instead of {expected}")
        self._log.close()
        assert self.differences == []

    def _decide(self, transaction: Transaction, *, commit: bool) -> None:
        super()._decide(transaction, commit=commit)
        self._mark_all(transaction)

    def _opened(self) -> FolderLog:
        return FolderLog(self._folder, now_ms=lambda: round(self.now * 1000))

    def _transactional_id(self, producer_id: int) -> str:
        identity = self._by_producer[producer_id]
        return next(name for name, each in self._identities.items() if each is identity)

    def _require_newest(self, transactional_id: str, following: tuple[int, int] | None) -> None:
        identity = self._identities.get(transactional_id)
        if following is not None and (
            identity is None or following != (identity.producer_id, identity.epoch)
        ):
            self.fenced += 1
            raise errors.ProducerFencedError

    def _answer(self, ask: Callable[[], _Result]) -> _Result | errors.BrokerResponseError:
        try:
            return ask()
        except errors.BrokerResponseError as error:
            return error

    def _refused(self, what: str, ask: Callable[[], None]) -> None:
        if self._answer(ask) is None:
            self.differences.append(f"{what}: the log refuses")

    def _both(self, what: str, log: Callable[[], None], model: Callable[[], None]) -> None:
        """Ask both; raise the error of the log."""
        refused = self._answer(log)
        if refused is not None:
            self._refused(f"{what}: {refused!r}", model)
            raise refused
        said = self._answer(model)
        if said is not None:
            self.differences.append(f"{what}: only the model refuses: {said!r}")

    def _committed(self, place: PartitionId) -> list[Record]:
        """Read a partition as a consumer does."""
        offset = 0
        records: list[Record] = []
        while (fetched := self._log.fetch(place, offset, _ALL_BYTES, committed=True)).records:
            aborted = deque(fetched.aborted)
            skipped = set()
            for batch in _batches(fetched.records):
                header = header_of(batch)
                offset = header.last_offset + 1
                while aborted and aborted[0][1] <= header.base_offset:
                    skipped.add(aborted.popleft()[0])
                if header.is_control:
                    skipped.discard(header.producer_id)
                elif header.producer_id not in skipped:
                    times = header.first_timestamp_ms, header.max_timestamp_ms
                    records += RecordBatch(*place, batch, header.records, *times).records()
        return records


def _batches(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        _, length = _LENGTH.unpack_from(data, at)
        size = _LENGTH.size + length
        yield data[at : at + size]
        at += size
