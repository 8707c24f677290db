"""MySQL's GTID sets in text and binary form, and the algebra of these sets.

Text, as `@@gtid_executed` prints it (tags since 8.3)::

    3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7:nightly:1-3,4350f323-…:1

Binary, in PREVIOUS_GTIDS_LOG_EVENT and COM_BINLOG_DUMP_GTID, little-endian::

    untagged  count u64 | per source: uuid 16 | n u64 | n x (start u64, end u64, exclusive)
    tagged    01 | count 48 bits | 01 | per source and tag: uuid 16 | length | tag | n u64 | …

The length of a tag is a variable-length integer of mysql::serialization; a tag has at most 32
characters, so it is always the one-byte form: the value shifted left by one.

Transaction numbers are half-open intervals, kept as one sorted list of their bounds. `1-4:7-9` is
`[1, 5, 7, 10]`: even indexes start an interval, odd indexes end one. Neighbours never touch. A
number lies inside if the count of bounds at or below it is odd, so one bisection answers every
question, and changes are slice assignments.

https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Previous__gtids__event.html
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, final
from uuid import UUID

from mypy_extensions import i64

from connector.binlog import argument_errors, log_errors
from connector.binlog.gtid.mysql_gtid import Gtid
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

# The server's GNO_END: numbers run from 1 to one below it.
GNO_END: Final = 2**63 - 1


@final
class Intervals:
    """A mutable set of transaction numbers."""

    __slots__ = ("_bounds",)

    def __init__(self, bounds: list[int] | None = None) -> None:
        """Take over `bounds`, which must be strictly rising and even in count."""
        self._bounds = [] if bounds is None else bounds

    def add(self, gno: i64) -> None:
        """Add one number; constant time if it follows the highest one."""
        bounds = self._bounds
        if bounds and bounds[-1] == gno:
            bounds[-1] = gno + 1
        else:
            self.add_range(gno, gno + 1)

    def add_range(self, start: int, end: int) -> None:
        """Add the numbers from `start` up to, but not including, `end`."""
        bounds = self._bounds
        # A bound equal to `start` or `end` disappears: touching intervals become one.
        low = bisect_left(bounds, start)
        high = bisect_right(bounds, end)
        outer = [] if low % 2 else [start]
        if not high % 2:
            outer.append(end)
        bounds[low:high] = outer

    def remove_range(self, start: int, end: int) -> None:
        """Remove the numbers from `start` up to, but not including, `end`."""
        bounds = self._bounds
        low = bisect_left(bounds, start)
        high = bisect_right(bounds, end)
        outer = [start] if low % 2 else []
        if high % 2:
            outer.append(end)
        bounds[low:high] = outer

    def contains_range(self, start: int, end: int) -> bool:
        """Return whether the set has every number from `start` up to, but not including, `end`."""
        after = bisect_right(self._bounds, start)
        return after % 2 == 1 and end <= self._bounds[after]

    def copy(self) -> Intervals:
        """Return an independent copy."""
        return Intervals(self._bounds.copy())

    def __contains__(self, gno: int) -> bool:
        return bisect_right(self._bounds, gno) % 2 == 1

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each interval, end exclusive, in rising order."""
        return zip(self._bounds[::2], self._bounds[1::2], strict=True)

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self._bounds) // 2

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals):
            return NotImplemented
        return self._bounds == other._bounds

    # Equal by value and mutable, so not a key.
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Return the server's form: `1-4:7`."""
        return ":".join(
            str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in self
        )


_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_INTERVAL = re.compile(r"([0-9]{1,19})(?:\s*-\s*([0-9]{1,19}))?")

_TAGGED_FORMAT = 1


@final
class GtidSet:
    """A set of transactions; equal by value, `add` changes it in place.

    `|`, `-` and `copy` return new sets; `<=` is the server's GTID_SUBSET, `-` its GTID_SUBTRACT.
    """

    __slots__ = ("_latest", "_latest_tag", "_latest_uuid", "_sources")

    def __init__(self) -> None:
        # No value of the dict is ever empty.
        self._sources: dict[tuple[UUID, str], Intervals] = {}
        # The intervals of the last `add`, because the next GTID mostly has the same source.
        self._latest: Intervals | None = None
        self._latest_uuid: UUID | None = None
        self._latest_tag = ""

    @classmethod
    def parse(cls, text: str) -> GtidSet:
        """Parse the text form, in any letter case, with any white space, order and overlap.

        Raises DecodeError that names the part that is not a GTID set.
        """
        gtids = cls()
        # A trailing or doubled comma is legal for the server.
        for member in filter(None, (part.strip() for part in text.lower().split(","))):
            gtids._parse_member(member)
        return gtids

    def _parse_member(self, member: str) -> None:
        uuid_text, *parts = (part.strip() for part in member.split(":"))
        if not _UUID.fullmatch(uuid_text):
            raise DecodeError(argument_errors.NOT_A_UUID, member=member, text=uuid_text)
        if not parts:
            raise DecodeError(argument_errors.NO_INTERVAL, member=member)
        uuid = UUID(uuid_text)
        tag = ""
        for part in parts:
            if match := _INTERVAL.fullmatch(part):
                start = int(match[1])
                last = start if match[2] is None else int(match[2])
                if not 0 < start <= last < GNO_END:
                    raise DecodeError(
                        argument_errors.INTERVAL, member=member, text=part, last=GNO_END - 1
                    )
                self._intervals(uuid, tag).add_range(start, last + 1)
            elif _TAG.fullmatch(part):
                tag = part
            else:
                raise DecodeError(argument_errors.NEITHER, member=member, text=part)
        if not _INTERVAL.fullmatch(parts[-1]):
            raise DecodeError(argument_errors.NO_INTERVAL_OF_TAG, member=member, tag=tag)

    @classmethod
    def decode(cls, reader: PayloadReader) -> GtidSet:
        """Read the binary form from the cursor; other data may follow it.

        Raises DecodeError for sets that no server writes, TruncatedPayload at the end of the bytes.
        """
        gtids = cls()
        count = reader.read_uint64()
        tagged = count >> 56 == _TAGGED_FORMAT
        if tagged:
            count = count >> 8 & (1 << 48) - 1
        for _ in range(count):
            uuid = UUID(bytes=reader.read_bytes(16))
            tag = _decode_tag(reader) if tagged else ""
            bounds: list[int] = []
            for _ in range(reader.read_uint64()):
                start, end = reader.read_uint64(), reader.read_uint64()
                if not (bounds[-1] if bounds else 0) < start < end <= GNO_END:
                    raise DecodeError(
                        log_errors.GTID_INTERVAL,
                        start=start,
                        end=end,
                        server=uuid,
                        offset=reader.offset - 16,
                    )
                bounds += start, end
            if not bounds or (uuid, tag) in gtids._sources:
                raise DecodeError(log_errors.GTID_SERVER, server=uuid)
            gtids._sources[uuid, tag] = Intervals(bounds)
        return gtids

    def encode(self) -> bytes:
        """Return the binary form: untagged, which every server reads, unless there are tags."""
        tagged = any(tag for _, tag in self._sources)
        count = len(self._sources)
        if tagged:
            count = _TAGGED_FORMAT << 56 | count << 8 | _TAGGED_FORMAT
        chunks = [count.to_bytes(8, "little")]
        for (uuid, tag), intervals in self._sorted():
            chunks.append(uuid.bytes)
            if tagged:
                chunks += bytes([len(tag) << 1]), tag.encode("ascii")
            chunks.append(len(intervals).to_bytes(8, "little"))
            for start, end in intervals:
                chunks += start.to_bytes(8, "little"), end.to_bytes(8, "little")
        return b"".join(chunks)

    def add(self, gtid: Gtid) -> None:
        """Add one transaction; constant time if it is the next of its source."""
        latest = self._latest
        if latest is None or gtid.uuid is not self._latest_uuid or gtid.tag != self._latest_tag:
            latest = self._latest = self._intervals(gtid.uuid, gtid.tag)
            self._latest_uuid, self._latest_tag = gtid.uuid, gtid.tag
        latest.add(gtid.gno)

    def copy(self) -> GtidSet:
        """Return an independent copy."""
        result = GtidSet()
        result._sources = {key: intervals.copy() for key, intervals in self._sources.items()}
        return result

    def _intervals(self, uuid: UUID, tag: str) -> Intervals:
        key = uuid, tag
        intervals = self._sources.get(key)
        if intervals is None:
            intervals = self._sources[key] = Intervals()
        return intervals

    def _sorted(self) -> list[tuple[tuple[UUID, str], Intervals]]:
        return sorted(self._sources.items(), key=lambda item: item[0])

    def __contains__(self, gtid: Gtid) -> bool:
        intervals = self._sources.get((gtid.uuid, gtid.tag))
        return intervals is not None and gtid.gno in intervals

    def __le__(self, other: GtidSet) -> bool:
        for key, intervals in self._sources.items():
            there = other._sources.get(key)
            if there is None or not all(there.contains_range(*bounds) for bounds in intervals):
                return False
        return True

    def __or__(self, other: GtidSet) -> GtidSet:
        result = self.copy()
        for (uuid, tag), intervals in other._sources.items():
            target = result._intervals(uuid, tag)
            for start, end in intervals:
                target.add_range(start, end)
        return result

    def __sub__(self, other: GtidSet) -> GtidSet:
        result = self.copy()
        for key, intervals in other._sources.items():
            target = result._sources.get(key)
            if target is None:
                continue
            for start, end in intervals:
                target.remove_range(start, end)
            if not len(target):
                del result._sources[key]
        return result

    def has_server(self, uuid: UUID) -> bool:
        """Return whether the set has a transaction that the server `uuid` committed first."""
        return any(server == uuid for server, _ in self._sources)

    @property
    def count(self) -> int:
        """Return how many transactions the set has."""
        return sum(end - start for intervals in self._sources.values() for start, end in intervals)

    def __iter__(self) -> Iterator[Gtid]:
        """Yield every transaction, ordered by server UUID, tag and number."""
        for (uuid, tag), intervals in self._sorted():
            for start, end in intervals:
                for gno in range(start, end):
                    yield Gtid(uuid, gno, tag)

    def __bool__(self) -> bool:
        return bool(self._sources)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GtidSet):
            return NotImplemented
        return self._sources == other._sources

    # Equal by value and mutable, so not a key.
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Return the server's normal form, without the line breaks after its commas."""
        members: dict[UUID, list[str]] = {}
        for (uuid, tag), intervals in self._sorted():
            parts = members.setdefault(uuid, [str(uuid)])
            parts += [tag, str(intervals)] if tag else [str(intervals)]
        return ",".join(":".join(parts) for parts in members.values())

    def __repr__(self) -> str:
        return f"GtidSet.parse({str(self)!r})"


def _decode_tag(reader: PayloadReader) -> str:
    start = reader.offset
    encoded_length = reader.read_uint8()
    raw = reader.read_bytes(encoded_length >> 1)
    tag = raw.decode("ascii", errors="replace")
    if encoded_length % 2 or (tag and not _TAG.fullmatch(tag)):
        raise DecodeError(log_errors.GTID_TAG, offset=start)
    return tag
