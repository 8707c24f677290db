"""The state of a table's copy, as in its record in `<prefix>.snapshot`."""

import json
from dataclasses import dataclass, field, fields
from typing import Final, Literal, NamedTuple, Self

from connector.foundation.contract import SNAPSHOT_TOPIC_SUFFIX, control_topic
from connector.foundation.errors import DecodeError
from connector.stream.progress import progress_errors

Phase = Literal["waiting", "copying", "complete", "failed"]

# Signals have the numbers below: they come from a topic, a table or a file, which share no offsets.
NO_REQUEST = -1
# The reason of the copies at the start of a pipeline.
AT_START = "start"


class KeyBounds(NamedTuple):
    """Where a part of a table begins and ends.

    Each has SQL literals of the first columns of the key; none where the part has no bound.
    """

    low: tuple[str, ...] = ()  # inclusive
    high: tuple[str, ...] = ()  # exclusive


@dataclass(slots=True)
class KeyRange:
    """A part of a table; the fields of `control_records.SnapshotRange`."""

    low: str = ""
    high: str = ""
    last: list[str] = field(default_factory=list)
    done: bool = False

    @property
    def last_key(self) -> list[bytes]:
        """The cells of the last key that was written; empty before the first."""
        return [bytes.fromhex(cell) for cell in self.last]

    @classmethod
    def of_bounds(cls, bounds: KeyBounds) -> Self:
        """Return a part of which nothing was copied."""
        return cls(_COMMA.join(bounds.low), _COMMA.join(bounds.high))

    @property
    def bounds(self) -> KeyBounds:
        """Where it begins and ends."""
        return KeyBounds(_literals(self.low), _literals(self.high))


# Between literals, none of which has a comma: texts are written as bytes.
_COMMA: Final = ", "


def _literals(text: str) -> tuple[str, ...]:
    return tuple(text.split(_COMMA)) if text else ()


@dataclass(slots=True)
class TableState:
    """The fields of `control_records.SnapshotRecord`."""

    database: str
    table: str
    phase: Phase = "waiting"
    reason: str = ""
    request: int = NO_REQUEST
    where: str = ""
    key: list[str] = field(default_factory=list)
    ranges: list[KeyRange] = field(default_factory=list)
    rows: int = 0
    kept_back: int = 0
    estimated_rows: int = 0
    started_at_ms: int = 0
    ended_at_ms: int = 0
    error: str = ""
    keys: list[str] = field(default_factory=list)
    snapshot: str = ""
    surrogate_key: str = ""
    together: str = ""
    before: Literal["", "complete", "failed"] = ""
    error_before: str = ""
    load: str = ""

    @property
    def name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.table}"

    @property
    def key_part(self) -> str:
        """The part after `pipeline/` in the record's key."""
        return f"{self.name}/{self.request}" if self.where else self.name

    @property
    def under_way(self) -> bool:
        """Whether some rows are still to be copied."""
        return self.phase in ("waiting", "copying")

    @property
    def takes_back(self) -> bool:
        """Whether the rows that consumers have are still to be taken back, because a user asked.

        They are dropped only when the table was seen, because a user may name any table.
        """
        return self.phase == "waiting" and self.request != NO_REQUEST and not self.where

    def fail(self, error: str, ended_at_ms: int) -> None:
        """Note that consumers lack rows of this copy, and why."""
        self.phase = "failed"
        self.keys = []
        self.error = error
        self.ended_at_ms = ended_at_ms

    def answer_for(self, known: "TableState") -> None:
        """Take the number of a copy under way that gives way to this one: its user still waits."""
        if known.request > NO_REQUEST:
            self.request = max(self.request, known.request)

    def replace(self, known: "TableState") -> None:
        """Note what a copy was that this one replaces."""
        # Until this one takes rows back, those of the other one count.
        self.load = known.load
        if known.takes_back:
            self.before, self.error_before = known.before, known.error_before
        elif known.phase == "complete":
            self.before = "complete"
        else:
            # Consumers lack the rows that were not copied yet.
            self.before, self.error_before = "failed", known.error

    def replaced(self, error: str) -> "TableState | None":
        """Return the copy that counts again, as this one has failed with `error` and done nothing.

        None if there was none.
        """
        if self.where or not self.before:
            return None
        error = (self.error_before or error) if self.before == "failed" else ""
        return TableState(
            self.database, self.table, self.before, self.reason, error=error, load=self.load
        )

    def encode(self) -> bytes:
        """Return the value of the record."""
        # `asdict` would copy every value, and there is a record for each chunk.
        value = {name: getattr(self, name) for name in _NAMES}
        value["ranges"] = [
            {"low": part.low, "high": part.high, "last": part.last, "done": part.done}
            for part in self.ranges
        ]
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes, record_name: str) -> "TableState":
        """Read the value of a record; `record_name` names it in errors.

        Raises DecodeError for a record of another version.
        """
        try:
            state = cls(**json.loads(value))
            state.ranges = [KeyRange(**part) for part in state.ranges]  # type: ignore[arg-type]
        except (ValueError, TypeError) as error:
            raise DecodeError(progress_errors.COPY, record=record_name, why=str(error)) from error
        return state


_NAMES = tuple(one.name for one in fields(TableState))


def snapshot_topic(prefix: str) -> str:
    """Return the topic of these records."""
    return control_topic(prefix, SNAPSHOT_TOPIC_SUFFIX)
