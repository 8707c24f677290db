"""MariaDB's GTIDs in text and binary form; positions in text: the last transaction of each domain.

Text, as `@@gtid_binlog_pos` prints it::

    0-1-5,1-2-7        domain - server - sequence number

Binary, in GTID_LIST_EVENT, little-endian::

    count u32, its high 4 bits are flags of the event | n x (domain u32, server u32, sequence u64)

Numbers rise within a domain, whatever server wrote them, so the last GTID of each domain says which
transactions came before it.

https://mariadb.com/docs/server/ha-and-performance/standard-replication/gtid
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import final

from mypy_extensions import i64

from connector.binlog import argument_errors
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

_GTID = re.compile(r"([0-9]{1,10})-([0-9]{1,10})-([0-9]{1,20})")
_BINARY_LENGTH = 16
_UINT32_MAX = 2**32 - 1
_UINT64_MAX = 2**64 - 1


@final
class MariadbGtid:
    """The name of one transaction; equal by value."""

    __slots__ = ("domain_id", "sequence", "server_id")

    def __init__(self, domain_id: i64, server_id: i64, sequence: int) -> None:
        """Name the transaction that `server_id` committed first.

        `sequence` has 64 bits and rises within the domain.
        """
        self.domain_id: i64 = domain_id
        self.server_id: i64 = server_id
        self.sequence = sequence

    @classmethod
    def parse(cls, text: str) -> MariadbGtid:
        """Parse `domain-server-sequence`.

        Raises DecodeError for anything else.
        """
        match = _GTID.fullmatch(text.strip())
        if match:
            gtid = cls(int(match[1]), int(match[2]), int(match[3]))
            if max(gtid.domain_id, gtid.server_id) <= _UINT32_MAX and gtid.sequence <= _UINT64_MAX:
                return gtid
        raise DecodeError(argument_errors.NOT_MARIADB, text=text)

    @classmethod
    def decode(cls, reader: PayloadReader) -> MariadbGtid:
        """Read the 16 bytes of the binary form."""
        fields = PayloadReader(reader.read_bytes(_BINARY_LENGTH))
        return cls(fields.read_uint32(), fields.read_uint32(), fields.read_uint64())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MariadbGtid):
            return NotImplemented
        return (
            self.sequence == other.sequence
            and self.server_id == other.server_id
            and self.domain_id == other.domain_id
        )

    def __hash__(self) -> int:
        return hash((self.domain_id, self.server_id, self.sequence))

    def __str__(self) -> str:
        """Return `domain-server-sequence`."""
        return f"{self.domain_id}-{self.server_id}-{self.sequence}"

    def __repr__(self) -> str:
        return f"MariadbGtid.parse({str(self)!r})"


@final
class MariadbGtidSet:
    """A position: the last transaction of each domain; equal by value; `add` changes it in place.

    It means all transactions up to these. It does not say which server wrote an earlier one, so
    `in`, `<=`, `|` and `-` compare numbers within domains.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[int, MariadbGtid] = {}

    @classmethod
    def of(cls, gtids: Iterable[MariadbGtid]) -> MariadbGtidSet:
        """Return the position after `gtids`, which come in the order of the binlog."""
        result = cls()
        for gtid in gtids:
            result.add(gtid)
        return result

    @classmethod
    def parse(cls, text: str) -> MariadbGtidSet:
        """Parse GTIDs joined by commas, at most one per domain; "" is the start of the log.

        Raises DecodeError for anything else.
        """
        gtids = cls()
        for part in filter(None, (part.strip() for part in text.split(","))):
            gtid = MariadbGtid.parse(part)
            if gtid.domain_id in gtids._last:
                raise DecodeError(argument_errors.DOMAIN_TWICE, text=text, domain=gtid.domain_id)
            gtids.add(gtid)
        return gtids

    def add(self, gtid: MariadbGtid) -> None:
        """Make `gtid` the last of its domain: callers add in the order of the binlog."""
        self._last[gtid.domain_id] = gtid

    def last_of(self, domain_id: int) -> MariadbGtid | None:
        """Return the last transaction of a domain, None if there is none."""
        return self._last.get(domain_id)

    def copy(self) -> MariadbGtidSet:
        """Return an independent copy."""
        result = MariadbGtidSet()
        result._last = self._last.copy()
        return result

    def __contains__(self, gtid: MariadbGtid) -> bool:
        last = self._last.get(gtid.domain_id)
        return last is not None and gtid.sequence <= last.sequence

    def __le__(self, other: MariadbGtidSet) -> bool:
        return all(gtid in other for gtid in self._last.values())

    def __or__(self, other: MariadbGtidSet) -> MariadbGtidSet:
        """Return the position after both: for each domain the GTID with the higher number."""
        result = self.copy()
        for gtid in other:
            if gtid not in self:
                result.add(gtid)
        return result

    def __sub__(self, other: MariadbGtidSet) -> MariadbGtidSet:
        """Return the domains in which this position is ahead of `other`, with their last GTIDs."""
        return MariadbGtidSet.of(gtid for gtid in self if gtid not in other)

    def __iter__(self) -> Iterator[MariadbGtid]:
        """Yield the last GTID of each domain, ordered by domain."""
        return iter([self._last[domain_id] for domain_id in sorted(self._last)])

    def __bool__(self) -> bool:
        return bool(self._last)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MariadbGtidSet):
            return NotImplemented
        return self._last == other._last

    # Equal by value and mutable, so not a key.
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Return the server's form, ordered by domain."""
        return ",".join(map(str, self))

    def __repr__(self) -> str:
        return f"MariadbGtidSet.parse({str(self)!r})"
