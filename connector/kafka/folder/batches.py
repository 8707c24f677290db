"""Record batches as the log takes and gives them: checked, with their offsets; control batches.

The offset of a batch is not part of what its checksum covers, so a batch is stored as it came.

https://kafka.apache.org/documentation/#recordbatch
"""

from collections.abc import Collection
from struct import Struct
from typing import Final, NamedTuple

from kafka import errors
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from connector.foundation.record_batch import HEADER_BYTES

SEQUENCE_MAX: Final = 0x7FFF_FFFF
NO_PRODUCER: Final = -1

_HEADER: Final = Struct(">qiibIhiqqqhii")
_PLACE: Final = Struct(">q")
_LENGTH_END: Final = 12  # the length counts what follows
_EPOCH_END: Final = 16
_CHECKED_FROM: Final = 21
_MAGIC: Final = 2
_NO_LEADER_EPOCH: Final = bytes(4)
_CODEC: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_NO_SEQUENCE: Final = -1
# The only record of a control batch: its key is a version and a type, its value a version and the
# epoch of the coordinator.
_ABORT: Final = bytes.fromhex("20 000000 08 0000 0000 0c 0000 00000000 00")
_COMMIT: Final = bytes.fromhex("20 000000 08 0000 0001 0c 0000 00000000 00")


class BatchHeader(NamedTuple):
    """The header of a record batch, field by field."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    checksum: int
    attributes: int
    last_offset_delta: int
    first_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    epoch: int
    base_sequence: int
    records: int

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The number of the last record."""
        return (self.base_sequence + self.last_offset_delta) & SEQUENCE_MAX

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether it ends a transaction."""
        return bool(self.attributes & _CONTROL)


def header_of(batch: bytes | memoryview) -> BatchHeader:
    """Return the header of a batch that was checked."""
    return BatchHeader._make(_HEADER.unpack_from(batch))


def is_whole(batch: bytes | memoryview) -> bool:
    """Return whether these are the bytes of one batch, and its checksum is right."""
    if len(batch) < HEADER_BYTES:
        return False
    header = header_of(batch)
    return (
        header.magic == _MAGIC
        and header.length == len(batch) - _LENGTH_END
        and header.checksum == calc_crc32c(batch[_CHECKED_FROM:])
    )


def checked(batch: bytes) -> BatchHeader:
    """Return the header of what a producer sends.

    Raises CorruptRecordError, or InvalidRecordError for what no producer may send.
    """
    if not is_whole(batch):
        raise errors.CorruptRecordError
    header = header_of(batch)
    if (
        header.is_control
        or header.records < 1
        or header.last_offset_delta != header.records - 1
        or (header.producer_id != NO_PRODUCER and header.base_sequence < 0)
    ):
        raise errors.InvalidRecordError
    return header


def placed(batch: bytes, offset: int) -> bytes:
    """Return a batch with its base offset."""
    return b"".join(
        (_PLACE.pack(offset), batch[8:_LENGTH_END], _NO_LEADER_EPOCH, batch[_EPOCH_END:])
    )


def control_batch(
    offset: int, producer_id: int, epoch: int, timestamp_ms: int, *, commit: bool
) -> bytes:
    """Return the batch that ends a transaction in a partition."""
    record = _COMMIT if commit else _ABORT
    header = BatchHeader(
        offset,
        HEADER_BYTES - _LENGTH_END + len(record),
        0,
        _MAGIC,
        0,
        _TRANSACTIONAL | _CONTROL,
        0,
        timestamp_ms,
        timestamp_ms,
        producer_id,
        epoch,
        _NO_SEQUENCE,
        1,
    )
    batch = _HEADER.pack(*header) + record
    checksum = calc_crc32c(batch[_CHECKED_FROM:])
    return _HEADER.pack(*header._replace(checksum=checksum)) + record


def first_at(batch: bytes, timestamp_ms: int, offset: int) -> tuple[int, int] | None:
    """Return offset and timestamp of the first record of that time from `offset` on."""
    for record in DefaultRecordBatch(batch):
        if record.offset >= offset and record.timestamp >= timestamp_ms:
            return record.offset, record.timestamp
    return None


def keys_of(batch: bytes) -> list[tuple[int, bytes | None]]:
    """Return offset and key of each record."""
    return [(record.offset, record.key) for record in DefaultRecordBatch(batch)]


def only(batch: bytes, offsets: Collection[int]) -> bytes:
    """Return a batch with these of its records, one at least, at the same offsets."""
    header = header_of(batch)
    builder = DefaultRecordBatchBuilder(
        _MAGIC,
        header.attributes & _CODEC,
        header.is_transactional,
        header.producer_id,
        header.epoch,
        header.base_sequence,
        SEQUENCE_MAX,
    )
    for record in DefaultRecordBatch(batch):
        if record.offset in offsets:
            delta = record.offset - header.base_offset
            builder.append(delta, record.timestamp, record.key, record.value, record.headers)
    built = bytes(builder.build())
    # The batch keeps its last offset, as that of a broker's compaction does.
    fields = header_of(built)._replace(
        base_offset=header.base_offset, last_offset_delta=header.last_offset_delta
    )
    unchecked = _HEADER.pack(*fields) + built[HEADER_BYTES:]
    checksum = calc_crc32c(unchecked[_CHECKED_FROM:])
    return _HEADER.pack(*fields._replace(checksum=checksum)) + built[HEADER_BYTES:]
