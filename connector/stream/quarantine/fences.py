"""Fences: tables and keys whose changes go to quarantine until the fence is lifted.

A fence is a record in a compacted topic. It is written in the same Kafka transaction as the
changes that it keeps back, so a restart finds it.

Its reason says why a change is kept back, and what to do. The text of an error says how to
continue if the error ends the stream. With a fence, the stream goes on, and the user only has
to lift the fence.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, Self, cast, final

from connector.binlog.log_errors import EventError
from connector.foundation.contract import FENCES_TOPIC_SUFFIX, control_topic
from connector.foundation.control_records import FenceRecord
from connector.foundation.errors import (
    ConnectorError,
    DecodeError,
    RecordTooLarge,
    TopicRefused,
    UnsupportedChange,
)
from connector.foundation.errors.code import Scope
from connector.foundation.errors.message import Words
from connector.foundation.kafka_records import NO_HEADERS, RecordTarget
from connector.stream.changes.receiver import StreamListener
from connector.stream.quarantine import quarantine_errors

# The table name in a fence of a whole database.
ALL_TABLES: Final = "*"
# The errors of a change that concern its row or its table, if `concerns_table`.
TABLE_ERRORS: Final = (UnsupportedChange, EventError, RecordTooLarge, TopicRefused)


def concerns_table(error: ConnectorError) -> bool:
    """Return whether the stream can go on without a row or a table; its code may say otherwise."""
    return error.code.scope is not Scope.PROCESS


@dataclass(slots=True)
class Fence:
    """One fence: the fields of `control_records.FenceRecord`."""

    database: str
    table: str
    key: str | None
    key_columns: list[str]
    since: str
    since_seq: str
    since_ms: int
    reason: str
    rows: int = 0
    replay: str | None = None
    replayed_seq: str = ""
    answered: str | None = None
    exempt: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.table}"

    @classmethod
    def decode(cls, value: bytes, record: str) -> Self:
        """Read the value of a record; raises DecodeError for one of another version."""
        try:
            return cls(**json.loads(value))
        except (ValueError, TypeError) as error:
            raise DecodeError(quarantine_errors.FENCE, record=record, why=str(error)) from error


@final
class TableFences:
    """The fences of one table."""

    def __init__(self) -> None:
        self.whole: Fence | None = None
        self.keys: dict[bytes, Fence] = {}

    def __iter__(self) -> Iterator[Fence]:
        yield from list(self.keys.values())
        whole = self.whole
        if whole is not None:
            yield whole


def decode_fences(prefix: str, pipeline: str, recovered: Mapping[str, bytes]) -> list[Fence]:
    """Return the `recovered` fences; raises DecodeError for a record of another version."""
    topic = control_topic(prefix, FENCES_TOPIC_SUFFIX)
    return [Fence.decode(value, f"{topic}: {pipeline}/{name}") for name, value in recovered.items()]


@final
class Fences:
    """The fences of one pipeline, in memory, and their records for Kafka."""

    def __init__(
        self,
        prefix: str,
        pipeline: str,
        target: RecordTarget,
        recovered: Mapping[str, bytes],
        listener: StreamListener | None = None,
    ) -> None:
        """Continue with the values `recovered` from the topic; `listener` gets new fences.

        Raises DecodeError for a value of another version.
        """
        self._topic = control_topic(prefix, FENCES_TOPIC_SUFFIX)
        self._pipeline = pipeline
        self._target = target
        self._tables: dict[tuple[str, str], TableFences] = {}
        self._changed: dict[str, Fence] = {}
        self.any = False
        # Databases whose fences may have no table left, because some are exempt.
        self.lift_candidates: set[str] = set()
        self._listener = StreamListener() if listener is None else listener
        for fence in decode_fences(prefix, pipeline, recovered):
            self._add(fence)
            if fence.exempt:
                self.lift_candidates.add(fence.database)

    def __iter__(self) -> Iterator[Fence]:
        # Any thread may ask.
        for table in list(self._tables.values()):
            yield from table

    @property
    def count(self) -> int:
        """The number of fences; any thread may ask."""
        return sum(1 for _ in self)

    def of(self, database: str, table: str) -> TableFences | None:
        """Return the fences of a table; None if it has none."""
        return self._tables.get((database, table))

    def of_database(self, database: str, table: str) -> Fence | None:
        """Return the fence of a whole database if it applies to this table."""
        fences = self._tables.get((database, ALL_TABLES))
        whole = None if fences is None else fences.whole
        return None if whole is None or table in whole.exempt else whole

    def whole_of(self, database: str, table: str) -> Fence | None:
        """Return the fence that keeps back all changes of a table: its own, or its database's."""
        fenced = self.of(database, table)
        own = None if fenced is None else fenced.whole
        return self.of_database(database, table) if own is None else own

    def has(self, database: str, table: str) -> bool:
        """Return whether a table, or a key of it, is fenced."""
        is_fenced = self.of(database, table) is not None
        return is_fenced or self.of_database(database, table) is not None

    def exempt(self, database: str, table: str) -> None:
        """Take a table out of the fence of its database, because all its rows are known."""
        whole = self.of_database(database, table)
        if whole is not None:
            whole.exempt.append(table)
            self.lift_candidates.add(database)
            self.change(whole)

    def renew(self, fence: Fence, reason: str, now_ms: int) -> None:
        """Let the fence of a database apply to its exempt tables again, and report it."""
        fence.exempt = []
        fence.reason = reason
        self.set(fence, now_ms)

    def set(self, fence: Fence, now_ms: int) -> None:
        """Add `fence`, and report it to the listener."""
        self._add(fence)
        self._listener.fence_set(
            fence.name, fence.since, fence.reason, of_key=fence.key is not None
        )
        self._write(fence, now_ms)

    def change(self, fence: Fence) -> None:
        """Note that the fields of a fence have changed; `flush` writes it."""
        self._changed[self._key(fence)] = fence

    def lift(self, database: str, table: str, now_ms: int) -> bool:
        """Lift all fences of a table that is copied again; return whether it had any.

        What was kept back stays in the quarantine.
        """
        self.exempt(database, table)
        fences = self._tables.get((database, table))
        if fences is None:
            return False
        for fence in list(fences):
            self.lift_one(fence, now_ms)
        return True

    def lift_database(self, database: str, now_ms: int) -> None:
        """Lift the fence of a whole database; those of its tables stay."""
        for fence in self.of(database, ALL_TABLES) or ():
            self.lift_one(fence, now_ms)

    def lift_one(self, fence: Fence, now_ms: int) -> None:
        """Lift a fence: its changes were written, or do not matter any more."""
        name = (fence.database, fence.table)
        fences = self._tables[name]
        if fence.key is None:
            fences.whole = None
        else:
            del fences.keys[fence.key.encode()]
        if fences.whole is None and not fences.keys:
            del self._tables[name]
        self.any = bool(self._tables)
        key = self._key(fence)
        self._changed.pop(key, None)
        self._target.take(self._topic, key.encode(), None, NO_HEADERS, now_ms)

    def flush(self, now_ms: int) -> None:
        for fence in self._changed.values():
            self._write(fence, now_ms)
        self._changed.clear()

    def _add(self, fence: Fence) -> None:
        fences = self._tables.setdefault((fence.database, fence.table), TableFences())
        if fence.key is None:
            fences.whole = fence
        else:
            fences.keys[fence.key.encode()] = fence
        self.any = True

    def _write(self, fence: Fence, now_ms: int) -> None:
        value = cast("FenceRecord", asdict(fence))
        self._target.take(
            self._topic,
            self._key(fence).encode(),
            json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
            NO_HEADERS,
            now_ms,
        )

    def _key(self, fence: Fence) -> str:
        name = f"{self._pipeline}/{fence.name}"
        return name if fence.key is None else f"{name}/{fence.key}"


def fence_reason(error: ConnectorError, database: str, table: str) -> str:
    """Return the reason that the fence of a table, or of a whole database, states for `error`."""
    if error.code.fence_fix is None:
        return str(error)
    code = (
        quarantine_errors.DATABASE_KEPT_BACK if table == ALL_TABLES else quarantine_errors.KEPT_BACK
    )
    kept_back = UnsupportedChange(code, table=f"{database}.{table}", why=error)
    return str(kept_back.in_words(Words.FENCE))
