"""A session for SELECT: PyMySQL logs in, and our own reader takes the rows from its socket.

The session's settings make the values exact: strings come as stored bytes, times in UTC, and no
sql_mode of the server changes how a value prints.
"""

from collections import Counter
from collections.abc import Callable, Generator
from threading import Lock
from typing import Final, Self

from connector.foundation.errors import SourceUnavailable
from connector.foundation.settings.configuration import source_in_lower_case
from connector.foundation.settings.sections import SourceSettings
from connector.replication import dump_errors
from connector.replication.protocol import result_set
from connector.replication.server.identity import other_server_error
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.server_error_numbers import server_error
from connector.replication.server.shared_socket import SharedSocket
from connector.replication.start_point import ServerIdentity
from connector.stream.envelope.copied_chunk import Chunk
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.source.record_options import column_choice

# A piece is encoded at once, and nothing else runs in this process during that time.
_RECEIVE_BYTES = 256 * 1024

_COM_QUERY = b"\x03"

# For a week, a session may be silent, such as while a table elsewhere is read.
_SETTINGS = (
    "SET SESSION character_set_results = NULL, time_zone = '+00:00', sql_mode = '', "
    "autocommit = 1, sql_select_limit = DEFAULT, wait_timeout = 604800"
)
# Settings that only some servers have.
_SOME_SETTINGS = {
    # MySQL 8.0.30: whether keys of sql_generate_invisible_primary_key are shown; the log has them.
    "show_gipk_in_create_table_and_information_schema": "ON",
    # MySQL 8.0: for how many seconds row counts are cached, a day by default. 0 asks the engine.
    "information_schema_stats_expiry": "0",
    # Of MySQL and of MariaDB: a SELECT that has a limit says so itself. The others may read a whole
    # table, and wait with its rows until they are written.
    "max_execution_time": "0",
    "max_statement_time": "0.000000",
}
# Whether names of tables are the same that differ in case: 1 and 2.
_CASE = "lower_case_table_names"
# Independent of the server's default: committed rows only, and one view in a transaction.
_ISOLATION = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"


# By server: how many statements the sessions of this process have sent.
_sent: Final = Counter[str]()
_sent_lock: Final = Lock()


class SelectSession:
    """A session on the source that runs one statement at a time; a context manager closes it.

    One thread queries; any thread may close. Every method raises SourceUnavailable if the
    connection breaks or was closed, and the error of `server_error` if the server refuses. After
    any other error than the server's own, the session cannot be used.
    """

    def __init__(self, settings: SourceSettings, statement_seconds: float = 0.0) -> None:
        """Log in; the server may be silent for `statement_seconds` beyond the read timeout.

        Raises SourceUnavailable, SourceRefused, and ConfigError for files that cannot be read.
        """
        server = MysqlServer.connect(settings)
        self.identity: ServerIdentity = server.identity
        self.name = server.name
        self._socket = SharedSocket(server.detach())
        self._timeout_seconds = settings.read_timeout_seconds + statement_seconds
        try:
            self.query(_SETTINGS)
            self.query(_ISOLATION)
            names = ", ".join(f"'{name}'" for name in (_CASE, *_SOME_SETTINGS))
            found = self.query(f"SHOW VARIABLES WHERE Variable_name IN ({names})")
            values = {row["Variable_name"] or "": row["Value"] for row in found}
            for name, value in _SOME_SETTINGS.items():
                if values.get(name, value) != value:
                    self.query(f"SET SESSION {name} = {value}")
        except BaseException:
            self.close()
            raise
        own = settings if values[_CASE] == "0" else source_in_lower_case(settings)
        # What records have of a table's columns.
        self.chosen_columns = column_choice(own)

    @classmethod
    def on(
        cls, identity: ServerIdentity, settings: SourceSettings, statement_seconds: float = 0.0
    ) -> Self:
        """Log in to the server `identity`; raises SourceUnavailable if another one answers.

        A proxy or a moved address may lead a login to another server than that of the stream.
        """
        session = cls(settings, statement_seconds)
        if session.identity.server_uuid != identity.server_uuid:
            session.close()
            raise other_server_error(session.name)
        return session

    @property
    def statements_sent(self) -> int:
        """How many statements all sessions of this process have sent to the server."""
        return _sent[self.identity.server_uuid]

    @property
    def is_closed(self) -> bool:
        """Whether the connection broke, or was closed."""
        return self._socket.closed

    def query(self, sql: str) -> list[dict[str, str | None]]:
        """Run a statement and return its rows, each by column name; [] if it has none.

        Use it for few rows, of text in UTF-8 or numbers.
        """
        rows = result_set.TextRows()
        names = self._run(sql, rows)
        return [dict(zip(names, row, strict=True)) for row in rows.rows]

    def read_chunks(
        self, sql: str, writer: SelectRowWriter, bytes_max: int
    ) -> Generator[tuple[Chunk, bool], None, None]:
        """Run a SELECT of `SelectedTable.select_list` and yield its rows in chunks.

        Each chunk has little more than `bytes_max` bytes, and comes with a flag that marks the last
        one. `Chunk.refused` has the rows with a value that the envelope has no form for. The server
        waits until the next chunk is taken. If it is not wanted, close the session.
        """
        pieces = self._pieces(sql, writer, lambda: writer.size >= bytes_max)
        try:
            for is_last in pieces:
                yield writer.take_chunk(), is_last
        finally:
            pieces.close()
            writer.discard()

    def read_rows(self, sql: str, receiver: result_set.RowReceiver) -> None:
        """Run a SELECT and give its rows to `receiver`."""
        self._run(sql, receiver)

    def read_cells(
        self, sql: str, bytes_max: int
    ) -> Generator[tuple[result_set.CellRows, bool], None, None]:
        """Run a SELECT and yield its rows in pieces, each with little more than `bytes_max` bytes.

        Each comes with a flag that marks the last one. Take the rows out of each piece: the next
        one is the same object. If it is not wanted, close the generator, and with it the session.
        """
        rows = result_set.CellRows()
        pieces = self._pieces(sql, rows, lambda: rows.size >= bytes_max)
        try:
            for is_last in pieces:
                yield rows, is_last
        finally:
            pieces.close()

    def _pieces(
        self, sql: str, taker: result_set.RowReceiver, is_full: Callable[[], bool]
    ) -> Generator[bool, None, None]:
        """Run a SELECT; yield when `taker` is full, and at the end: whether these are all rows."""
        result = result_set.ResultSet(self.name, taker)
        try:
            self._ask(sql)
            while not result.ended:
                self._receive(result)
                if is_full() and not result.ended:
                    yield False
            if result.error is not None:
                raise server_error(self.name, result.error.code, result.error.message)
            yield True
        finally:
            if not result.ended:
                self.close()

    def close(self) -> None:
        """End the connection; a running statement raises SourceUnavailable. Idempotent."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, sql: str, taker: result_set.RowReceiver) -> list[str]:
        result = result_set.ResultSet(self.name, taker)
        try:
            self._ask(sql)
            while not result.ended:
                self._receive(result)
        except BaseException:
            # The rest of the answer still comes, and would be read as the answer of the next query.
            self.close()
            raise
        if result.error is not None:
            raise server_error(self.name, result.error.code, result.error.message)
        return result.column_names

    def _ask(self, sql: str) -> None:
        with _sent_lock:
            _sent[self.identity.server_uuid] += 1
        try:
            self._socket.send(_query_packet(sql), self._timeout_seconds)
        except OSError as error:
            raise self._broken(error) from error

    def _receive(self, result: result_set.ResultSet) -> None:
        try:
            data = self._socket.receive(_RECEIVE_BYTES, self._timeout_seconds)
        except OSError as error:
            raise self._broken(error) from error
        if not data:
            raise self._ended()
        result.feed(data)

    def _ended(self) -> SourceUnavailable:
        if self._socket.closed:
            return self._closed_here()
        return SourceUnavailable(dump_errors.SERVER_CLOSED, server=self.name)

    def _broken(self, error: OSError) -> SourceUnavailable:
        if self._socket.closed:
            return self._closed_here()
        if isinstance(error, TimeoutError):
            return SourceUnavailable(
                dump_errors.NO_ANSWER, server=self.name, seconds=self._timeout_seconds
            )
        why = error.strerror or str(error)
        return SourceUnavailable(dump_errors.BROKE, server=self.name, why=why)

    def _closed_here(self) -> SourceUnavailable:
        return SourceUnavailable(dump_errors.SESSION_CLOSED_HERE, server=self.name)


def _query_packet(sql: str) -> bytes:
    payload = _COM_QUERY + sql.encode("utf-8")
    return len(payload).to_bytes(3, "little") + b"\0" + payload
