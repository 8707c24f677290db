"""What is left of a closed segment: its batches that are of use, at the same offsets."""

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from connector.kafka.folder import batches, frames
from connector.kafka.folder.batches import BatchHeader
from connector.kafka.folder.folder_errors import LogDamaged
from connector.kafka.folder.frames import Append, End, Event, Key, Kind
from connector.kafka.folder.segment_index import Aborted, SegmentIndex

_DIGEST_BYTES: Final = 16


class Rules:
    """Which records of a compacted partition are kept below a limit, by the keys before it."""

    def __init__(self, limit: int, aborted: tuple[Aborted, ...], keys_max: int) -> None:
        """Begin without records; `aborted` has the aborted transactions of the partition.

        When there are `keys_max` keys, no more batches are noted, and the limit is before them.
        """
        self.limit = limit
        self._aborted = aborted
        self._keys_max = keys_max
        self._newest: dict[bytes, int] = {}

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self._newest)

    def note(self, batch: bytes) -> bool:
        """Note the keys of a batch, if there is room; return whether there was.

        Batches come in their order.
        """
        header = batches.header_of(batch)
        if len(self._newest) >= self._keys_max:
            self.limit = header.base_offset
            return False
        if not header.is_control and not self._is_aborted(header):
            for offset, key in batches.keys_of(batch):
                if key is not None:
                    self._newest[_digest(key)] = offset
        return True

    def kept(self, batch: bytes) -> bytes | None:
        """Return what is left of a batch; None for nothing."""
        header = batches.header_of(batch)
        if header.last_offset >= self.limit:
            return batch
        if self._is_aborted(header):
            return None
        records = batches.keys_of(batch)
        left = {
            offset
            for offset, key in records
            if key is None or self._newest.get(_digest(key), offset) <= offset
        }
        if len(left) == len(records):
            return batch
        return batches.only(batch, left) if left else None

    def _is_aborted(self, header: BatchHeader) -> bool:
        return header.is_transactional and any(
            each.producer_id == header.producer_id
            and each.first <= header.base_offset < each.marker
            for each in self._aborted
        )


def rewritten(
    path: Path, segment: int, bounds: Mapping[Key, tuple[int, int]], rules: Mapping[Key, Rules]
) -> tuple[bytes, SegmentIndex]:
    """Return the bytes of a segment without what is of no use, and their index.

    `bounds` has the earliest and the next offset of each partition that exists, `rules` those of
    compacted ones. Raises LogDamaged, OSError.
    """
    data = path.read_bytes()
    content = bytearray()
    index = SegmentIndex()
    end = 0
    for frame in frames.frames(segment, data):
        end = frame.position + frame.size
        if frame.kind in {Kind.APPEND, Kind.END}:
            event = _left(frames.event_of(frame), bounds, rules)
            if event is not None:
                position = len(content)
                kind, body = frames.body_of(event)
                content += frames.encode(segment, position, kind, body, 0)
                index.add(event, position, len(content) - position)
    if end < len(data):
        raise LogDamaged(path, end, "no valid frame begins here")
    return bytes(content), index


def _left(
    event: Event, bounds: Mapping[Key, tuple[int, int]], rules: Mapping[Key, Rules]
) -> Event | None:
    if isinstance(event, Append):
        last = batches.header_of(event.batch).last_offset
        if event.key not in bounds or last < bounds[event.key][0]:
            return None
        if event.key not in rules or last == bounds[event.key][1] - 1:
            return event
        batch = rules[event.key].kept(event.batch)
        return None if batch is None else event._replace(batch=batch)
    assert isinstance(event, End)
    markers = []
    for marker in event.markers:
        key = marker.topic, marker.partition
        if key not in bounds or marker.offset < bounds[key][0]:
            continue
        # Readers need the marker of an abort, and the last offset: of the partition, or below a
        # transaction that is open.
        is_needed = not event.commit or marker.offset == bounds[key][1] - 1
        if is_needed or key not in rules or marker.offset >= rules[key].limit - 1:
            markers.append(marker)
    return event._replace(markers=markers) if markers else None


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()
