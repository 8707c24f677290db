"""How far the load of a table has come: a part of the progress in the mirror's Delta log.

*Watermark.* The moment of a progress record: everything before it is visible to the SELECTs, and no
change after it has a lower sequence. All loaded rows have this sequence.

*Parts.* Each is read in the order of the key; what was read is committed together with the key of
its last row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from connector.binlog.gtid import GtidSet
from stream_jobs.source.sequence import PackedSequence

# The rows are read; the topic is applied up to what the SELECTs have seen; nothing is missing.
LoadPhase = Literal["reading", "catching up", "complete"]


@dataclass(frozen=True, slots=True)
class SourceMoment:
    """A moment of a source's log."""

    server: str  # the UUID of the server that the position belongs to
    flavour: str
    gtid: str | None
    position: str  # FILE:POSITION


@dataclass(frozen=True, slots=True)
class LoadPart:
    """Rows whose key is in a range.

    Each bound has SQL literals of the first columns of the key; none where the part has no bound.
    """

    low: tuple[str, ...] = ()  # inclusive
    high: tuple[str, ...] = ()  # exclusive
    last: tuple[str, ...] = ()  # cells of the last key that was read, in hex
    done: bool = False

    @property
    def last_key(self) -> list[bytes]:
        """The cells of the last key; empty before the first row."""
        return [bytes.fromhex(cell) for cell in self.last]


@dataclass(frozen=True, slots=True)
class TableLoad:
    """The load of one table."""

    id: str  # as in the state of the copy that it stands for
    phase: LoadPhase
    seq: PackedSequence  # of the watermark, and of all loaded rows
    watermark: SourceMoment
    key: tuple[str, ...] = ()  # name, type and collation of the columns that order the rows
    parts: tuple[LoadPart, ...] = ()
    rows: int = 0
    estimated_rows: int = 0
    end: SourceMoment | None = None  # after the last SELECT
    # The GTIDs that SELECTs may have seen, on all servers; None if no GTIDs tell.
    seen: str | None = None

    def after_range(
        self, place: int, part: LoadPart, rows: int, seen: str | None = None
    ) -> "TableLoad":
        """Return the load after more `rows` of a part were read, at a server with `seen` GTIDs."""
        parts = tuple(part if n == place else own for n, own in enumerate(self.parts))
        if seen is not None:
            seen = str(GtidSet.parse(self.seen or "") | GtidSet.parse(seen))
        return replace(self, parts=parts, rows=self.rows + rows, seen=seen)

    @property
    def seen_moment(self) -> SourceMoment | None:
        """What the SELECTs may have seen, on any server; None if no GTIDs tell."""
        return None if self.seen is None else SourceMoment("", "mysql", self.seen, "")

    @property
    def is_read(self) -> bool:
        """Whether all rows are read."""
        return all(part.done for part in self.parts)

    def is_complete(self, id_: str) -> bool:
        """Return whether this is the load with an id, and nothing of it is missing."""
        return self.id == id_ and self.phase == "complete"

    def completed(self) -> "TableLoad":
        """Return the load after everything that its SELECTs have seen was applied."""
        return replace(self, phase="complete", key=(), parts=(), seen=None)

    def document(self) -> dict[str, Any]:
        """Return the load for JSON."""
        return {
            "id": self.id,
            "phase": self.phase,
            "seq": self.seq,
            "watermark": _fields(self.watermark),
            "key": self.key,
            "parts": [[part.low, part.high, part.last, part.done] for part in self.parts],
            "rows": self.rows,
            "estimated_rows": self.estimated_rows,
            "end": None if self.end is None else _fields(self.end),
            "seen": self.seen,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Read what `document` returned; raises KeyError or TypeError for other values."""
        parts = [
            LoadPart(_bound(low), _bound(high), tuple(last), done)
            for low, high, last, done in document["parts"]
        ]
        end = document["end"]
        return cls(
            document["id"],
            document["phase"],
            PackedSequence(*document["seq"]),
            SourceMoment(*document["watermark"]),
            tuple(document["key"]),
            tuple(parts),
            document["rows"],
            document["estimated_rows"],
            None if end is None else SourceMoment(*end),
            # An earlier version has none.
            document.get("seen"),
        )


def _bound(literals: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(literals, str):
        # Earlier versions had bounds of the first column alone.
        return (literals,) if literals else ()
    return tuple(literals)


def _fields(moment: SourceMoment) -> list[str | None]:
    return [moment.server, moment.flavour, moment.gtid, moment.position]
