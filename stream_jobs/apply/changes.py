"""The records of a table as arrays: its changes, its truncates, and the last change.

The connector writes a partition in the order of its sequences. But a task may read several
partitions, and a record may come twice, so sequences decide, not offsets.
"""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from connector.foundation import contract, record_reader
from connector.foundation.errors.message import Message
from stream_jobs.apply.table_failures import InvalidRecordError, RecordPosition
from stream_jobs.errors import MirrorError, record_errors
from stream_jobs.source.sequence import PackedSequence, PackedSequences, Truncate
from stream_jobs.source.topics import OffsetRange

DELETE: Final = ord(contract.OP_DELETE)
TRUNCATE: Final = ord(contract.OP_TRUNCATE)
READ: Final = ord(contract.OP_READ)
UPDATE: Final = ord(contract.OP_UPDATE)
# Around the key, in the delete of a row that a copy takes back.
_BARE_START: Final = b'{"before":'
_BARE_END: Final = b',"after":null,'
_ROW_OPS: Final = tuple(
    ord(op) for op in (contract.OP_CREATE, contract.OP_UPDATE, contract.OP_DELETE, contract.OP_READ)
)
# By operation, whether it is one of them.
_IS_ROW: Final = np.isin(np.arange(256), _ROW_OPS)


class Changes:
    """The records of one table, in the order of partitions and offsets."""

    def __init__(
        self,
        topic: str,
        pieces: Sequence[tuple[OffsetRange, record_reader.RecordColumns]],
        skipped: frozenset[tuple[int, int]] = frozenset(),
        bound: PackedSequence | None = None,
    ) -> None:
        """Join the records of several ranges, without those in `skipped`: partition and offset.

        A partition ends before its first record that is not below `bound`.
        """
        self.topic = topic
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.schema_ids: list[str] = []
        numbers: dict[bytes, int] = {}
        partitions, offsets, digits, ops, schemas = [], [], [], [], []
        for span, columns in sorted(pieces, key=lambda piece: piece[0]):
            self.keys += columns.keys
            self.values += columns.values
            partitions.append(np.full(len(columns.keys), span.partition, np.int32))
            offsets.append(np.frombuffer(columns.offsets.getvalue(), "<i8"))
            digits.append(columns.sequences.getvalue())
            ops.append(np.frombuffer(columns.ops.getvalue(), np.uint8))
            # The last place stands for NO_SCHEMA, which is -1.
            own = [numbers.setdefault(id_, len(numbers)) for id_ in columns.schema_ids]
            of_piece = np.array([*own, record_reader.NO_SCHEMA], np.int32)
            schemas.append(of_piece[np.frombuffer(columns.schemas.getvalue(), "<i4")])
        self.schema_ids = [id_.decode(errors="replace") for id_ in numbers]
        self.partitions: NDArray[np.int32] = np.concatenate(partitions)
        self.offsets: NDArray[np.int64] = np.concatenate(offsets)
        self.ops: NDArray[np.uint8] = np.concatenate(ops)
        self.schemas: NDArray[np.int32] = np.concatenate(schemas)
        self._digits = b"".join(digits)
        self.sequences = PackedSequences(self._digits)
        # By partition, the offset of the first record that is not below the bound.
        self.held: dict[int, int] = {}
        if bound is not None:
            self._hold(bound, skipped)
        is_empty = np.fromiter((v is None for v in self.values), np.bool_, len(self.values))
        self._are_skipped = self._among(skipped)
        # Like a tombstone: it is there, and changes nothing.
        self.ops[self._are_skipped] = DELETE
        is_empty |= self._are_skipped
        # A tombstone repeats the headers of its `d`, and is never applied.
        self.are_tombstones: NDArray[np.bool_] = is_empty & (self.ops == DELETE)
        self.are_rows: NDArray[np.bool_] = _IS_ROW[self.ops] & ~self.are_tombstones
        self._are_empty = is_empty

    def __len__(self) -> int:
        return len(self.keys)

    def error(self) -> MirrorError | None:
        """Return the error of the first record with wrong headers, or without a value."""
        has_sequence = self.sequences.fits
        has_schema = self.schemas != record_reader.NO_SCHEMA
        is_known = self.are_rows | (self.ops == TRUNCATE)
        good = has_sequence & is_known & has_schema & ~self._are_empty
        wrong = np.flatnonzero(~(good | (self.are_tombstones & has_schema) | self._are_skipped))
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

    def by_schema(self, places: NDArray[np.intp]) -> list[tuple[str, NDArray[np.intp]]]:
        """Return the changes at `places` by the id of their column list."""
        if len(self.schema_ids) == 1 and len(places):
            # Mostly. Each change has one.
            return [(self.schema_ids[0], places)]
        numbers = self.schemas[places]
        return [
            (self.schema_ids[number], places[numbers == number])
            for number in np.unique(numbers).tolist()
        ]

    def are_first(self) -> NDArray[np.bool_]:
        """Return which records are above all earlier ones of their partition: no repetitions."""
        hi, lo = self.sequences.hi, self.sequences.lo
        order = np.lexsort((lo, hi))
        differ = (np.diff(hi[order]) != 0) | (np.diff(lo[order]) != 0)
        rank = np.zeros(len(hi), np.int64)
        rank[order[1:]] = np.cumsum(differ)
        first = np.zeros(len(hi), np.bool_)
        for partition in np.unique(self.partitions).tolist():
            own = np.flatnonzero(self.partitions == partition)
            highest = np.maximum.accumulate(rank[own])
            first[own] = np.concatenate([[True], rank[own][1:] > highest[:-1]])
        return first

    def are_bare(self, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of the deletes at `places` have the key alone as their image.

        A copy takes rows back in this way: nobody knows their other values.
        """
        keys, values = self.keys, self.values
        flags = (_is_bare(keys[place], values[place]) for place in places.tolist())
        return np.fromiter(flags, np.bool_, len(places))

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

    def _hold(self, bound: PackedSequence, skipped: frozenset[tuple[int, int]]) -> None:
        """Drop the first record of each partition that is not below `bound`, and all after it.

        Those in `skipped` do not count.
        """
        are_beyond = ~self.sequences.are_below(bound) & ~self._among(skipped)
        if not are_beyond.any():
            return
        kept = np.ones(len(self.keys), np.bool_)
        for partition in np.unique(self.partitions[are_beyond]).tolist():
            own = self.partitions == partition
            first = int(self.offsets[own & are_beyond][0])
            self.held[partition] = first
            kept &= ~(own & (self.offsets >= first))
        places = np.flatnonzero(kept)
        self.keys = [self.keys[place] for place in places.tolist()]
        self.values = [self.values[place] for place in places.tolist()]
        self.partitions, self.offsets = self.partitions[places], self.offsets[places]
        self.ops, self.schemas = self.ops[places], self.schemas[places]
        digits = np.frombuffer(self._digits, np.uint8).reshape(-1, record_reader.SEQUENCE_BYTES)
        self._digits = digits[places].tobytes()
        self.sequences = PackedSequences(self._digits)

    def _among(self, records: frozenset[tuple[int, int]]) -> NDArray[np.bool_]:
        is_among = np.zeros(len(self.keys), np.bool_)
        for partition, offset in records:
            is_among |= (self.partitions == partition) & (self.offsets == offset)
        return is_among

    def _problem(self, place: int) -> Message:
        start = place * record_reader.SEQUENCE_BYTES
        if self._digits[start : start + record_reader.SEQUENCE_BYTES] == record_reader.NO_SEQUENCE:
            return Message(record_errors.NO_SEQUENCE, {})
        if not self.sequences.fits[place]:
            return Message(record_errors.WRONG_SEQUENCE, {})
        if self.ops[place] == record_reader.NO_OP:
            return Message(record_errors.NO_HEADER, {"header": contract.HEADER_OP})
        if self.ops[place] not in (*_ROW_OPS, TRUNCATE):
            return Message(record_errors.WRONG_OP, {})
        if self.schemas[place] == record_reader.NO_SCHEMA:
            return Message(record_errors.NO_HEADER, {"header": contract.HEADER_SCHEMA})
        return Message(record_errors.NO_VALUE, {})


def _is_bare(key: bytes | None, value: bytes | None) -> bool:
    if key is None or value is None:
        return False
    return value.startswith(_BARE_START + key + _BARE_END)


# The partition of truncates: they have no key.
TRUNCATES: Final = 0


def truncates_of(changes: Changes, places: NDArray[np.intp]) -> list[Truncate]:
    """Return the truncates at `places`.

    Raises InvalidRecordError for one that does not say when the source committed it.
    """
    return [Truncate(changes.sequences.at(p), _committed(changes, p)) for p in places.tolist()]


def _committed(changes: Changes, place: int) -> int:
    try:
        source = json.loads(changes.values[place] or b"")["source"]
        return int(source["ts_us"]) if "ts_us" in source else int(source["ts_ms"]) * 1000
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        schema = changes.schema_ids[changes.schemas[place]]
        raise InvalidRecordError(
            place, Message(record_errors.NOT_JSON, {"schema": schema})
        ) from error


class LastChange(NamedTuple):
    """The change with the highest sequence, and where the source has it."""

    seq: PackedSequence
    transaction: str


def last_change(changes: Changes, places: NDArray[np.intp]) -> LastChange | None:
    """Return the last of the changes at `places`; None without one, or if it does not say it.

    Only its record is parsed for that.
    """
    sequences = changes.sequences
    highest = sequences.highest(places)
    if highest is None:
        return None
    are_last = (sequences.hi[places] == highest.hi) & (sequences.lo[places] == highest.lo)
    try:
        source = orjson.loads(changes.values[int(places[are_last][0])] or b"{}")["source"]
        gtid, file, position = (source.get(name) for name in ("gtid", "file", "pos"))
    except (ValueError, KeyError, TypeError, AttributeError):
        # Whether a record is wrong is decided where its row is read.
        return None
    if gtid:
        return LastChange(highest, str(gtid))
    return LastChange(highest, f"{file}:{position}") if file else None
