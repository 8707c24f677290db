"""The state of a replica in tables of the target, written in the transaction of the rows.

So rows and state never disagree, whatever dies when. Each transaction begins with a lock on the
row of the replica, which names the process that applies: an older process that wakes up is told
before it writes.

    _cdc.replica           one row for each replica: the mirror, the process, the cut
    _cdc.replica_tables    for each table: its Delta version, its columns, why a cut lacks it
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Self

from stream_jobs.cuts.cut import Cut
from stream_jobs.errors import MirrorError
from stream_jobs.paths import OWN_FOLDER
from stream_jobs.replica import replica_errors
from stream_jobs.replica.statements import text_literal
from stream_jobs.replica.target import TargetSession

REPLICA: Final = f"`{OWN_FOLDER}`.`replica`"
TABLES: Final = f"`{OWN_FOLDER}`.`replica_tables`"
_TEXT: Final = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
_CREATE: Final = (
    f"CREATE DATABASE IF NOT EXISTS `{OWN_FOLDER}`",
    f"""CREATE TABLE IF NOT EXISTS {REPLICA} (
        name VARCHAR(255) {_TEXT} PRIMARY KEY,
        mirror TEXT {_TEXT} NOT NULL,
        process CHAR(32) {_TEXT} NOT NULL,
        cut BIGINT,
        seq CHAR(38) {_TEXT},
        gtid LONGTEXT {_TEXT},
        `position` VARCHAR(512) {_TEXT},
        source_time DATETIME(3),
        applied DATETIME(3)
    ) ENGINE=InnoDB""",
    f"""CREATE TABLE IF NOT EXISTS {TABLES} (
        replica VARCHAR(255) {_TEXT},
        name VARCHAR(255) {_TEXT},
        path VARCHAR(1024) {_TEXT},
        generation VARCHAR(64) {_TEXT},
        version BIGINT,
        seq CHAR(38) {_TEXT},
        columns_json LONGTEXT {_TEXT},
        left_out TEXT {_TEXT},
        PRIMARY KEY (replica, name)
    ) ENGINE=InnoDB""",
)


@dataclass(frozen=True, slots=True)
class ReplicatedTable:
    """The version of a mirror that a table at the target has."""

    path: str
    generation: str
    version: int
    seq: str  # of the cut of that version
    columns: str  # what `ColumnList.write` returned

    @classmethod
    def read(cls, row: Mapping[str, object]) -> Self | None:
        """Read a row of `TABLES`; None for a table that the target does not have."""
        if row["version"] is None:
            return None
        return cls(
            str(row["path"]),
            str(row["generation"]),
            int(str(row["version"])),
            str(row["seq"]),
            str(row["columns_json"]),
        )


@dataclass(slots=True)
class ReplicaState:
    """What the target has."""

    cut: int | None = None
    seq: str = ""
    tables: dict[str, ReplicatedTable] = field(default_factory=dict)  # by `database.table`
    left_out: dict[str, str] = field(default_factory=dict)


class StateTables:
    """The rows of one replica."""

    def __init__(self, name: str, mirror: str) -> None:
        """Mark for the replica `name` of the mirror at `mirror`."""
        self._name = name
        self._mirror = mirror.rstrip("/")
        self._process = uuid.uuid4().hex
        self._has_claimed = False

    def claim(self, target: TargetSession) -> ReplicaState:
        """Take the replica for this process, and return what it has.

        Raises MirrorError if it is one of another mirror, or if another process has taken it.
        """
        for statement in _CREATE:
            target.execute(statement, "_cdc")
        target.execute("START TRANSACTION", "_cdc")
        values = ", ".join(map(text_literal, (self._name, self._mirror, self._process)))
        target.execute(
            f"INSERT IGNORE INTO {REPLICA} (name, mirror, process) VALUES ({values})", "_cdc"
        )
        (row,) = self._locked(target)
        if row["mirror"] != self._mirror:
            raise MirrorError(
                replica_errors.OTHER_MIRROR,
                server=target.name,
                name=self._name,
                mirror=row["mirror"],
                path=self._mirror,
            )
        if self._has_claimed and row["process"] != self._process:
            raise self._taken(target)
        process = text_literal(self._process)
        target.execute(f"UPDATE {REPLICA} SET process = {process} WHERE {self._own}", "_cdc")
        state = self._read(target, row)
        target.execute("COMMIT", "_cdc")
        self._has_claimed = True
        return state

    def lock(self, target: TargetSession, *, with_others: bool = False) -> None:
        """Begin a transaction; `with_others` is for several of this process at a time.

        Raises MirrorError if another process has the replica.
        """
        target.execute("START TRANSACTION", "_cdc")
        rows = self._locked(target, "LOCK IN SHARE MODE" if with_others else "FOR UPDATE")
        if not rows or rows[0]["process"] != self._process:
            raise self._taken(target)

    def mark_table(self, target: TargetSession, name: str, mark: ReplicatedTable) -> None:
        """Write which version of a table is there."""
        texts = (self._name, name, mark.path, mark.generation, mark.seq, mark.columns)
        values = ", ".join(map(text_literal, texts))
        target.execute(
            f"REPLACE INTO {TABLES} (replica, name, path, generation, seq, columns_json, version) "
            f"VALUES ({values}, {mark.version})",
            "_cdc",
        )

    def mark_cut(
        self, target: TargetSession, cut: Cut, changed_reasons: Mapping[str, str | None]
    ) -> None:
        """Write which cut is there, and which tables it does not have."""
        texts = {"seq": cut.seq, "gtid": cut.gtid, "position": cut.position}
        texts |= {"source_time": _time(cut.source_time_ms)}
        values = ", ".join(f"`{column}` = {_literal(text)}" for column, text in texts.items())
        target.execute(
            f"UPDATE {REPLICA} SET cut = {cut.number}, {values}, applied = UTC_TIMESTAMP(3) "
            f"WHERE {self._own}",
            "_cdc",
        )
        for name, reason in changed_reasons.items():
            key = f"{text_literal(self._name)}, {text_literal(name)}"
            target.execute(
                f"INSERT INTO {TABLES} (replica, name, left_out) VALUES ({key}, "
                f"{_literal(reason)}) ON DUPLICATE KEY UPDATE left_out = VALUES(left_out)",
                "_cdc",
            )

    @property
    def _own(self) -> str:
        return f"name = {text_literal(self._name)}"

    def _locked(self, target: TargetSession, lock: str = "FOR UPDATE") -> list[dict[str, object]]:
        return target.query(
            f"SELECT mirror, process, cut, seq FROM {REPLICA} WHERE {self._own} {lock}"
        )

    def _read(self, target: TargetSession, row: Mapping[str, object]) -> ReplicaState:
        cut = row["cut"]
        state = ReplicaState(None if cut is None else int(str(cut)), str(row["seq"] or ""))
        for entry in target.query(
            "SELECT name, path, generation, version, seq, columns_json, left_out "
            f"FROM {TABLES} WHERE replica = {text_literal(self._name)}"
        ):
            name = str(entry["name"])
            if entry["left_out"] is not None:
                state.left_out[name] = str(entry["left_out"])
            mark = ReplicatedTable.read(entry)
            if mark is not None:
                state.tables[name] = mark
        return state

    def _taken(self, target: TargetSession) -> MirrorError:
        return MirrorError(replica_errors.TAKEN_OVER, server=target.name, name=self._name)


def _literal(text: str | None) -> str:
    return "NULL" if text is None else text_literal(text)


def _time(ms: int | None) -> str | None:
    if ms is None:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).replace(tzinfo=None).isoformat(" ")
