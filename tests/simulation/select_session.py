"""A session that runs the statements of copies on the tables of a simulated server.

SQLite runs SELECTs of rows, on the rows at a position of the log, with the conditions, the order
and the limit of the chunk.
"""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

from connector.binlog.gtid import GtidSet
from connector.binlog.payload_reader import encode_lenenc
from connector.foundation.errors import SourceUnavailable
from connector.replication import dump_errors
from connector.replication.server.server_error_numbers import server_error
from connector.stream.source.select_session import SelectSession
from tests.simulation.faults import Call, Fault
from tests.simulation.story import DATABASE, KEYLESS

if TYPE_CHECKING:
    from collections.abc import Generator

    from connector.replication.protocol.result_set import RowReceiver
    from connector.stream.envelope.copied_chunk import Chunk
    from connector.stream.envelope.selected_rows import SelectRowWriter
    from tests.simulation.live_server import LiveServer
    from tests.simulation.table_history import Rows, TableContent
    from tests.simulation.world import Process

_Row = dict[str, str | None]

_OF_TABLES = ("SELECT t.table_rows", "SELECT table_type AS type", "SELECT column_name AS name")

_NULL = b"\xfb"
_HEX = re.compile(r"_utf8mb4 X'([0-9a-f]+)'")
_NAME = re.compile(r"`shop`\.`(\w+)`")
_GTIDS = re.compile(r"WAIT_FOR_EXECUTED_GTID_SET\('(.*)', 1\)")
_EXPLAIN = "EXPLAIN FORMAT=TRADITIONAL "
_FOR_SHARE = " LOCK IN SHARE MODE"
_PREFIX = re.compile(r"SET STATEMENT max_statement_time = [0-9.]+ FOR ")
_LOCK_WAIT_TIMEOUT, _NO_SUCH_TABLE, _BAD_FIELD, _TABLE_CHANGED = 1205, 1146, 1054, 1412


class ScriptedSession(SelectSession):
    """Runs one statement at a time, each of which is a step of the process."""

    def __init__(self, process: Process, server: LiveServer) -> None:
        """Log in."""
        self.identity = server.identity
        self.name = f"source {server.identity.server_uuid}"
        self.chosen_columns = None
        self._process = process
        self._server = server
        self._random = process.world.random
        self._view: int | None = None  # groups that the open transaction sees
        self._is_closed = False
        self._step()

    @property
    def is_dead(self) -> bool:
        """Whether the server knows no more of it."""
        return self._is_closed or self._process.killed or self._process.ended

    def query(self, sql: str) -> list[_Row]:
        """Run a statement."""
        lost = self._step()
        rows = self._answer(" ".join(sql.split()))
        if lost:
            raise self._lost()
        return rows

    def read_chunks(
        self, sql: str, writer: SelectRowWriter, bytes_max: int
    ) -> Generator[tuple[Chunk, bool], None, None]:
        """Run a SELECT of rows; see `SelectSession`."""
        lost = self._step()
        ended = False
        try:
            rows = self._selected(sql)
            for number, row in enumerate(rows):
                data = _row(row)
                writer.put_row(data, 0, len(data))
                if writer.size >= bytes_max and number < len(rows) - 1:
                    yield writer.take_chunk(), False
                    lost = self._step() or lost
            if lost:
                raise self._lost()
            ended = True
            yield writer.take_chunk(), True
        finally:
            writer.discard()
            if not ended:
                self.close()

    def read_rows(self, sql: str, receiver: RowReceiver) -> None:
        """Run a SELECT; see `SelectSession`."""
        lost = self._step()
        for row in self._selected(sql):
            data = _row(row)
            receiver.put_row(data, 0, len(data))
        if lost:
            raise self._lost()

    def close(self) -> None:
        """End the session."""
        self._is_closed = True
        self._server.locks.pop(self, None)

    def _step(self) -> bool:
        """Let something go wrong, and time go by; return whether the answer is lost."""
        if self._is_closed:
            raise self._lost()
        fault = self._process.step(Call.SELECT)
        if fault is Fault.REFUSED or self._process.world.server is not self._server:
            raise self._lost()
        self._server.go_on()
        return fault is Fault.LOST

    def _lost(self) -> SourceUnavailable:
        self.close()
        return SourceUnavailable(dump_errors.SERVER_CLOSED, server=self.name)

    def _answer(self, sql: str) -> list[_Row]:
        sql = _PREFIX.sub("", sql)
        if sql.startswith("SELECT table_schema AS db"):
            return [{"db": DATABASE, "name": name} for name in self._named(sql)]
        if sql.startswith(("SELECT table_name AS of_table", *_OF_TABLES)):
            return self._definitions(sql)
        if sql.startswith("SHOW INDEX FROM"):
            return [] if _name(sql) == KEYLESS else [_PRIMARY_KEY]
        if sql.startswith("SELECT 1 FROM "):
            return self._nothing(sql)
        if " FROM information_schema.collations " in sql:
            return [{"name": "utf8mb4_general_ci", "id": "45"}]
        if " AS found FROM " in sql:
            return [{"found": _text(found)} for (found,) in self._selected(sql)]
        if sql.startswith(_EXPLAIN):
            # An estimate may be wrong.
            rows = len(self._selected(sql.removeprefix(_EXPLAIN)))
            return [{"rows": str(self._random.choice((rows, rows, 0, 3 * rows)))}]
        return self._session_answer(sql)

    def _definitions(self, sql: str) -> list[_Row]:
        """Return what information_schema has of tables, each row with its table and place."""
        found: list[_Row] = []
        for name in self._named(sql):
            if "AS estimated" in sql:
                rows = [self._statistics()]
            elif "table_type AS type" in sql:
                rows = [{"type": "BASE TABLE", "engine": "InnoDB"}]
            elif "column_name AS name" in sql:
                rows = _columns(name, self._table(name))
            else:
                rows = [] if name == KEYLESS else [{**_PRIMARY_KEY, "Null": ""}]
            found += [
                {**row, "of_table": name, "place": str(place)} for place, row in enumerate(rows)
            ]
        return found

    def _statistics(self) -> _Row:
        """Return an estimate."""
        rows = str(self._random.choice((0, 0, 1, 20, 40)))
        return {"estimated": rows, "row_bytes": "10", "transactional": "YES"}

    def _nothing(self, sql: str) -> list[_Row]:
        """Return no row of what exists."""
        if sql.startswith("SELECT 1 FROM `") and self._table(table := _name(sql)) is None:
            raise server_error(self.name, _NO_SUCH_TABLE, f"Table '{table}' doesn't exist")
        return []

    def _session_answer(self, sql: str) -> list[_Row]:
        server = self._server
        if sql in ("SHOW MASTER STATUS", "SHOW BINARY LOG STATUS"):
            file, position = server.end_behind(server.logged)
            return [{"File": file, "Position": str(position)}]
        if sql.startswith("SHOW STATUS LIKE 'binlog_snapshot_%'"):
            assert self._view is not None
            file, position = server.end_behind(self._view)
            return [
                {"Variable_name": "Binlog_snapshot_file", "Value": file},
                {"Variable_name": "Binlog_snapshot_position", "Value": str(position)},
            ]
        if (waited := _GTIDS.search(sql)) is not None:
            return [{"timed_out": "0" if self._waited_for(waited[1]) else "1"}]
        if sql.startswith("START TRANSACTION WITH CONSISTENT SNAPSHOT"):
            server.locks.pop(self, None)
            self._view = server.visible
        elif sql in ("COMMIT", "ROLLBACK"):
            self._view = None
        elif sql.startswith("LOCK TABLES"):
            self._lock(_name(sql))
        elif sql == "UNLOCK TABLES":
            server.locks.pop(self, None)
        else:
            assert sql.startswith("SET SESSION"), sql
        return []

    def _waited_for(self, gtids: str) -> bool:
        """Wait for a second; return whether transactions are visible now."""
        groups = self._server.groups_in(GtidSet.parse(gtids))
        assert groups <= self._server.logged
        if self._server.visible < groups and self._random.random() < 0.3:
            self._process.world.pass_time(1.0)
            return False
        self._server.show(groups)
        return True

    def _lock(self, table: str) -> None:
        server = self._server
        if table in server.history.held[server.logged]:
            raise server_error(self.name, _LOCK_WAIT_TIMEOUT, "Lock wait timeout exceeded")
        if self._table(table) is None:
            raise server_error(self.name, _NO_SUCH_TABLE, f"Table '{table}' doesn't exist")
        # Whoever has written to it is waited for.
        self._view = None
        server.show(server.logged)
        server.locks[self] = table

    def _named(self, sql: str) -> list[str]:
        """Return the tables that there are, or that of the condition where it is there."""
        names = [bytes.fromhex(name).decode() for name in _HEX.findall(sql)]
        every = list(dict.fromkeys(names[1:])) or sorted(self._server.history.behind[0])
        return [name for name in every if self._table(name) is not None]

    def _table(self, name: str) -> TableContent | None:
        return self._server.table(name)

    def _selected(self, sql: str) -> list[list[bytes | None]]:
        """Return the rows of a SELECT of one table, as the session sees it."""
        sql = _PREFIX.sub("", sql)
        table = _name(sql)
        now = self._table(table)
        if now is None:
            raise server_error(self.name, _NO_SUCH_TABLE, f"Table '{table}' doesn't exist")
        rows = now.rows
        if sql.endswith(_FOR_SHARE):
            sql = sql.removesuffix(_FOR_SHARE)
            rows = self._locked_rows(table)
        elif self._view is not None:
            seen = self._server.table(table, self._view)
            if seen is None or seen.definition != now.definition:
                raise server_error(self.name, _TABLE_CHANGED, "Table definition has changed")
            rows = seen.rows
        try:
            return _run(sql, table, now.added, rows)
        except sqlite3.OperationalError as error:
            if "no such column" not in str(error):
                raise
            raise server_error(self.name, _BAD_FIELD, f"Unknown column: {error}") from error

    def _locked_rows(self, table: str) -> Rows:
        """Return what a locking read sees: of each row the newest state, one after the other."""
        server = self._server
        server.show(server.logged)
        first = server.table(table)
        before = server.logged
        server.go_on()
        server.show(server.logged)
        last = server.table(table)
        assert first is not None
        if last is None or last.definition != first.definition:
            # DDL waits for the statement.
            server.logged = server.visible = before
            return first.rows
        boundary = self._random.choice((0, *first.rows))
        return {
            **{row_id: text for row_id, text in first.rows.items() if row_id < boundary},
            **{row_id: text for row_id, text in last.rows.items() if row_id >= boundary},
        }


def _run(sql: str, table: str, added: int, rows: Rows) -> list[list[bytes | None]]:
    connection = sqlite3.connect(":memory:")
    more = "".join(f", more{number} INT" for number in range(added))
    connection.execute(f"ATTACH ':memory:' AS {DATABASE}")
    connection.execute(f"CREATE TABLE {DATABASE}.{table} (id INT, text TEXT{more})")
    connection.executemany(
        f"INSERT INTO {DATABASE}.{table} (id, text) VALUES (?, ?)",
        list(rows.items()),
    )
    try:
        found = connection.execute(_HEX.sub(r"CAST(X'\1' AS TEXT)", sql)).fetchall()
    finally:
        connection.close()
    return [[None if cell is None else str(cell).encode() for cell in row] for row in found]


def _name(sql: str) -> str:
    found = _NAME.search(sql)
    assert found is not None, sql
    return found[1]


def _row(cells: list[bytes | None]) -> bytes:
    """Return a row as a server sends it."""
    return b"".join(_NULL if cell is None else encode_lenenc(len(cell)) + cell for cell in cells)


def _text(cell: bytes | None) -> str | None:
    return None if cell is None else cell.decode()


_PRIMARY_KEY: _Row = {
    "Non_unique": "0",
    "Key_name": "PRIMARY",
    "Column_name": "id",
    "Sub_part": None,
    "Index_type": "BTREE",
}
_NOTHING: _Row = dict.fromkeys(
    ("length", "digits", "scale", "fraction", "charset", "collation", "computed_as")
)
_INTEGER: _Row = {**_NOTHING, "type": "int", "definition": "int", "digits": "10", "scale": "0"}


def _columns(table: str, content: TableContent | None) -> list[_Row]:
    """Return what information_schema has of the columns."""
    assert content is not None
    keyed = "" if table == KEYLESS else "PRI"
    text: _Row = {
        **_NOTHING,
        "name": "text",
        "type": "varchar",
        "definition": "varchar(30)",
        "nullable": "YES",
        "length": "120",
        "charset": "utf8mb4",
        "collation": "utf8mb4_general_ci",
        "keyed": "",
    }
    return [
        {**_INTEGER, "name": "id", "nullable": "NO", "keyed": keyed},
        text,
        *(
            {**_INTEGER, "name": f"more{number}", "nullable": "YES", "keyed": ""}
            for number in range(content.added)
        ),
    ]
