"""The records of a table become arrays: which ones are changes, which to apply, and the last ones.

The connector writes a partition in the order of its sequences. But a task may read several
partitions, and a record may come twice, so sequences decide, not offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from connector.contract import (
    HEADER_OP,
    HEADER_SCHEMA,
    OP_CREATE,
    OP_DELETE,
    OP_READ,
    OP_TRUNCATE,
    OP_UPDATE,
)
from connector.errors import mirror_records
from connector.errors.message import Message
from connector.records.record_reader import NO_OP, NO_SCHEMA, NO_SEQUENCE, SEQUENCE_BYTES
from stream_jobs.apply.problems import RecordPosition
from stream_jobs.sequence import PackedSequences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from connector.errors import MirrorError
    from connector.records.record_reader import RecordColumns
    from stream_jobs.source.ranges import OffsetRange

DELETE: Final = ord(OP_DELETE)
TRUNCATE: Final = ord(OP_TRUNCATE)
_ROW_OPS: Final = tuple(ord(op) for op in (OP_CREATE, OP_UPDATE, OP_DELETE, OP_READ))


class Changes:
    """The records of one table, in the order of partitions and offsets."""

    def __init__(self, topic: str, pieces: Sequence[tuple[OffsetRange, RecordColumns]]) -> None:
        """Join the records of several ranges."""
        self.topic = topic
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.schema_ids: list[str] = []
        numbers: dict[bytes, int] = {}
        partitions, offsets, digits, ops, schemas = [], [], [], [], []
        for each, columns in sorted(pieces, key=lambda piece: piece[0]):
            self.keys += columns.keys
            self.values += columns.values
            partitions.append(np.full(len(columns.keys), each.partition, np.int32))
            offsets.append(np.frombuffer(columns.offsets.getvalue(), "<i8"))
            digits.append(columns.sequences.getvalue())
            ops.append(np.frombuffer(columns.ops.getvalue(), np.uint8))
            # The last place stands for NO_SCHEMA, which is -1.
            own = [numbers.setdefault(id_, len(numbers)) for id_ in columns.schema_ids]
            of_piece = np.array([*own, NO_SCHEMA], np.int32)
            schemas.append(of_piece[np.frombuffer(columns.schemas.getvalue(), "<i4")])
        self.schema_ids = [id_.decode(errors="replace") for id_ in numbers]
        self.partitions: NDArray[np.int32] = np.concatenate(partitions)
        self.offsets: NDArray[np.int64] = np.concatenate(offsets)
        self.ops: NDArray[np.uint8] = np.concatenate(ops)
        self.schemas: NDArray[np.int32] = np.concatenate(schemas)
        self._digits = b"".join(digits)
        self.sequences = PackedSequences(self._digits)
        is_empty = np.fromiter((v is None for v in self.values), np.bool_, len(self.values))
        # A tombstone repeats the headers of its `d`, and is never applied.
        self.are_tombstones: NDArray[np.bool_] = is_empty & (self.ops == DELETE)
        self.are_rows: NDArray[np.bool_] = np.isin(self.ops, _ROW_OPS) & ~self.are_tombstones
        self._are_empty = is_empty

    def __len__(self) -> int:
        return len(self.keys)

    def error(self) -> MirrorError | None:
        """Return the error of the first record with wrong headers, or without a value."""
        has_sequence = self.sequences.fits
        has_schema = self.schemas != NO_SCHEMA
        is_known = self.are_rows | (self.ops == TRUNCATE)
        good = has_sequence & is_known & has_schema & ~self._are_empty
        wrong = np.flatnonzero(~(good | (self.are_tombstones & has_schema)))
        if not len(wrong):
            return None
        place = int(wrong[0])
        return self.position(place).corrupt(self._problem(place))

    def position(self, place: int) -> RecordPosition:
        """Return where a record is."""
        seq = self.sequences.at(place) if self.sequences.fits[place] else None
        return RecordPosition(
            self.topic, int(self.partitions[place]), int(self.offsets[place]), seq
        )

    def last_of_keys(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return, of the records at `places`, the one with the highest sequence of each key."""
        hi, lo = self.sequences.hi[places], self.sequences.lo[places]
        rises = (hi[1:] > hi[:-1]) | ((hi[1:] == hi[:-1]) & (lo[1:] >= lo[:-1]))
        if not rises.all():
            places = places[np.lexsort((lo, hi))]
        every = places.tolist()
        # A dictionary keeps the last value of a key.
        latest = dict(zip([self.keys[place] for place in every], every, strict=True))
        return np.sort(np.fromiter(latest.values(), np.intp, len(latest)))

    def _problem(self, place: int) -> Message:
        start = place * SEQUENCE_BYTES
        if self._digits[start : start + SEQUENCE_BYTES] == NO_SEQUENCE:
            return Message(mirror_records.NO_SEQUENCE, {})
        if not self.sequences.fits[place]:
            return Message(mirror_records.WRONG_SEQUENCE, {})
        if self.ops[place] == NO_OP:
            return Message(mirror_records.NO_HEADER, {"header": HEADER_OP})
        if self.ops[place] not in (*_ROW_OPS, TRUNCATE):
            return Message(mirror_records.WRONG_OP, {})
        if self.schemas[place] == NO_SCHEMA:
            return Message(mirror_records.NO_HEADER, {"header": HEADER_SCHEMA})
        return Message(mirror_records.NO_VALUE, {})
