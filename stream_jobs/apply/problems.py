"""What is wrong with a record: where it is, and why it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.errors import MirrorError, mirror_records

if TYPE_CHECKING:
    from connector.errors.message import Message
    from stream_jobs.schema.sequence import PackedSequence


class RecordPosition(NamedTuple):
    """The topic, partition and offset of a record."""

    topic: str
    partition: int
    offset: int
    seq: PackedSequence | None

    def corrupt(self, why: Message) -> MirrorError:
        """Return the error that names this record, and why it is refused."""
        where = {"topic": self.topic, "partition": self.partition, "offset": self.offset}
        if self.seq is None:
            return MirrorError(mirror_records.RECORD_WITHOUT_SEQUENCE, **where, why=why)
        # Two pieces of advice would contradict each other.
        code = mirror_records.ADVISED_RECORD if why.fix else mirror_records.RECORD
        return MirrorError(code, **where, seq=self.seq.unpack(), why=why)


class WrongRecordError(Exception):
    """The first of several records that is wrong, by its place among them."""

    def __init__(self, place: int, why: Message) -> None:
        """Refuse the record at `place`."""
        super().__init__(place, why)
        self.place = place
        self.why = why
