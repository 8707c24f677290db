"""The name of a MySQL transaction: the server that first committed it, and a running number.

::

    uuid:gno        3e11fa47-71ca-11e1-9e33-c80aa9429562:5
    uuid:tag:gno    3e11fa47-71ca-11e1-9e33-c80aa9429562:nightly:5

https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html
"""

from typing import Final, final
from uuid import UUID

from librt.strings import read_i64_le
from mypy_extensions import i64, mypyc_attr

# Number of servers whose UUID is kept decoded: a log has few, but a bad log can have any number.
_SERVERS_MAX: Final = 1024
_HALF: Final = 8


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class Gtid:
    """The name of one transaction; equal by value."""

    __slots__ = ("gno", "prefix", "tag", "uuid")

    def __init__(self, uuid: UUID, gno: i64, tag: str = "") -> None:
        """Name transaction `gno`, from 1, of the server that first committed it.

        `tag` is "" without one; else it is lower case, at most 32 characters.
        """
        self.uuid = uuid
        self.gno: i64 = gno
        self.tag = tag
        self.prefix = ""  # the text up to the number, made at its first use

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gtid):
            return NotImplemented
        return self.gno == other.gno and self.tag == other.tag and self.uuid == other.uuid

    def __hash__(self) -> int:
        return hash((self.uuid, self.gno, self.tag))

    def __str__(self) -> str:
        """Return `uuid:gno`, or `uuid:tag:gno`."""
        if not self.prefix:
            self.prefix = f"{self.uuid}:{self.tag}:" if self.tag else f"{self.uuid}:"
        return self.prefix + str(self.gno)

    def __repr__(self) -> str:
        return f"Gtid(uuid={self.uuid!r}, gno={self.gno}, tag={self.tag!r})"


@final
class _Server:
    """A server's UUID and its text, shared by all transactions of a log."""

    __slots__ = ("high", "low", "prefix", "prefix_bytes", "uuid")

    def __init__(self, raw: bytes) -> None:
        self.uuid = UUID(bytes=raw)
        self.prefix = f"{self.uuid}:"
        self.prefix_bytes = self.prefix.encode("ascii")
        # The halves of the bytes, to compare them in place.
        self.low: i64 = read_i64_le(raw, 0)
        self.high: i64 = read_i64_le(raw, _HALF)


@final
class _Servers:
    """The servers seen so far."""

    def __init__(self) -> None:
        self._known: dict[bytes, _Server] = {}
        self._latest: _Server | None = None

    def at(self, data: bytes, at: i64) -> _Server:
        """Return the server whose UUID is in the 16 bytes at `at`."""
        latest = self._latest
        if (
            latest is not None
            and read_i64_le(data, at) == latest.low
            and read_i64_le(data, at + _HALF) == latest.high
        ):
            return latest
        raw = data[at : at + 2 * _HALF]
        server = self._known.get(raw)
        if server is None:
            if len(self._known) >= _SERVERS_MAX:
                self._known.clear()
            server = self._known[raw] = _Server(raw)
        self._latest = server
        return server


_SERVERS: Final = _Servers()


def gtid_at(data: bytes, at: i64, gno: i64) -> Gtid:
    """Return the GTID without a tag of the server whose UUID is in the 16 bytes of `data` at `at`.

    Raises IndexError if there are fewer bytes.
    """
    server = _SERVERS.at(data, at)
    gtid = Gtid(server.uuid, gno)
    gtid.prefix = server.prefix
    return gtid


def gtid_prefix_at(data: bytes, at: i64) -> bytes:
    """Return the text of GTIDs of the server that `gtid_at` names, up to the number.

    Raises IndexError if there are fewer than 16 bytes.
    """
    return _SERVERS.at(data, at).prefix_bytes
