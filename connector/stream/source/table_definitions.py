"""Table definitions from the server: current columns, and columns that the log leaves out.

*Definitions.* A definition that is read now counts for an earlier position of the log only if the
table did not change in between. A short dump, from the position to the log's end, shows the
statements in between. The end of the dump is the position of the definition that was read before
it. If a statement was in force by then, the dump has it, because servers write a statement to the
log before its effect is visible.

*Unlogged columns.* Newer MariaDB servers log generated columns in rows of INSERT, and not in those
of UPDATE and DELETE, in each `binlog_row_image`. The columns of a system period (ROW START, ROW
END) are always there. The same goes for hidden columns, which no SELECT shows.
"""

from collections.abc import Iterable, Mapping

from connector.binlog.decoder import EventDecoder
from connector.binlog.events.query import QueryEvent
from connector.binlog.header import FIRST_POSITION, EventType, file_number
from connector.binlog.sql_text import quoted_name, sql_text
from connector.binlog.statement import statement_of
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import SourceRefused, UnsupportedChange
from connector.foundation.settings.sections import SourceSettings
from connector.replication.dump import open_stream
from connector.replication.protocol.commands import ComBinlogDump
from connector.replication.server.identity import version_of
from connector.replication.server.mysql_server import name_of
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.changes.transaction import RowsChange
from connector.stream.envelope.cells.labels import has_uncertain_labels
from connector.stream.envelope.schemas import server_schemas
from connector.stream.source import table_errors
from connector.stream.source.information_schema import read_definition
from connector.stream.source.select_session import SelectSession

# The name in SHOW REPLICAS.
_REPLICA_NAME = "binlog-definitions"
_RECEIVE_SECONDS = 1.0
# ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE; ER_VIEW_INVALID and ER_NO_SUCH_USER come for views alone.
_NO_TABLE = frozenset({1049, 1146, 1356, 1449})

_QUERIES = frozenset({EventType.QUERY_EVENT, EventType.QUERY_COMPRESSED_EVENT})

# Number of the file, byte offset.
_Position = tuple[int, int]


class ServerTableDefinitions(server_schemas.DefinitionSource):
    """Asks one server; its positions are those of the stream."""

    def __init__(
        self, settings: SourceSettings, identity: ServerIdentity, *, lower_case_names: bool
    ) -> None:
        """Ask the server of `settings`, which must be `identity`."""
        self._settings = settings
        self._identity = identity
        self._lower_case_names = lower_case_names
        # The part of the log that was read, and the last statement in it on each table, or on each
        # database with the table "".
        self._read_from: _Position | None = None
        self._read_to = "", 0
        self._statements: dict[tuple[str, str], _Position] = {}

    def define(
        self, database: str, table: str, change: RowsChange
    ) -> server_schemas.ServerDefinition:
        """Return the current definition of the table; see `DefinitionSource`."""
        is_sequence = False
        columns: list[SchemaColumn] | None = None
        try:
            columns = self._columns(database, table)
        except SourceRefused as error:
            # Tables of this name can have been there before.
            is_sequence = error.code is table_errors.SEQUENCE
            if not is_sequence and error.code is not table_errors.VIEW:
                raise
        transaction, event = change.transaction, change.event
        here = file_number(event.file), event.position
        start = transaction.file, transaction.position
        if here < (file_number(transaction.file), transaction.position):
            # Rows that waited for XA COMMIT: the events before them are in the same file.
            start = event.file, FIRST_POSITION
        self._read_log(*start)
        file, position = self._read_to
        last = max(
            self._statements.get((database, table), (0, 0)),
            self._statements.get((database, ""), (0, 0)),
        )
        changed = last > here
        if columns is None and not changed and not is_sequence:
            raise UnsupportedChange(
                table_errors.ROWS_WITHOUT_TABLE,
                server=name_of(self._settings),
                name=f"{database}.{table}",
                file=event.file,
                position=event.position,
                end_file=file,
                end_position=position,
            )
        return server_schemas.ServerDefinition(
            columns, file, position, changed=changed, is_sequence=is_sequence
        )

    def _columns(self, database: str, table: str) -> list[SchemaColumn] | None:
        """Return the columns of a table; None if there is no such table."""
        with SelectSession.on(self._identity, self._settings) as session:
            try:
                if not _exists(session, database, table):
                    return None
                definition = read_definition(session, database, table)
            except SourceRefused as error:
                if error.code in (table_errors.VIEW, table_errors.SEQUENCE):
                    raise
                name = f"{database}.{table}"
                raise UnsupportedChange(table_errors.NOT_SHOWN, name=name, why=error) from error
            columns = [*definition.schema_columns(), *definition.hidden]
        for column in columns:
            if has_uncertain_labels(column):
                raise UnsupportedChange(
                    table_errors.LABELS_UNCERTAIN,
                    server=session.name,
                    name=f"{database}.{table}",
                    column=column["name"],
                )
        return columns

    def _read_log(self, file: str, position: int) -> None:
        """Read all statements from a position up to the log's end."""
        here = file_number(file), position
        if self._read_from is None or here < self._read_from:
            self._read_from = here
            self._statements.clear()
        elif self._read_to[0]:
            # All statements before it have been read.
            file, position = self._read_to
        if position > ComBinlogDump.POSITION_MAX:
            position = FIRST_POSITION
        identity = self._identity
        mariadb = identity.flavour == "mariadb"
        decoder = EventDecoder(file=file, position=position, mariadb=mariadb)
        point = StartPoint(identity.flavour, None, file, position)
        with open_stream(
            identity, self._settings, point, replica_name=_REPLICA_NAME, stop_at_end=True
        ) as stream:
            while not stream.ended:
                data = stream.receive(_RECEIVE_SECONDS)
                if data is None:
                    continue
                event = decoder.open(data)
                if event.header.artificial or not event.header.log_pos:
                    continue
                self._read_to = event.file, event.next_position
                if event.header.type_code in _QUERIES and event.begin_thread_id < 0:
                    body = event.body
                    assert isinstance(body, QueryEvent)
                    self._take(body, (file_number(event.file), event.position))

    def _take(self, body: QueryEvent, position: _Position) -> None:
        statement = statement_of(body)
        if not statement.kind.changes_columns:
            return
        statement.resolve(body.schema, lower_case=self._lower_case_names)
        for name in statement.tables:
            self._statements[name] = position


def _exists(session: SelectSession, database: str, table: str) -> bool:
    """Return whether there is a table.

    Without the right to read it, information_schema shows no table and gives no error. So this
    raises SourceRefused without that right.
    """
    try:
        session.query(f"SELECT 1 FROM {quoted_name(database, table)} LIMIT 0")  # noqa: S608 - quoted
    except SourceRefused as error:
        if error.number in _NO_TABLE:
            return False
        raise
    return True


_PERIOD = frozenset({"ROW START", "ROW END"})


def unlogged_columns(
    identity: ServerIdentity, columns: Iterable[Mapping[str, object]]
) -> frozenset[str]:
    """Return the names of columns that the log of a server leaves out.

    `columns` have their `name`, and as `computed_as` their `generation_expression`.
    """
    if not version_of(identity).leaves_out_generated:
        return frozenset()
    return frozenset(
        str(column["name"])
        for column in columns
        if column["computed_as"] and column["computed_as"] not in _PERIOD
    )


class ServerUnloggedColumns(server_schemas.UnloggedColumns):
    """Asks one server."""

    def __init__(self, settings: SourceSettings, identity: ServerIdentity) -> None:
        """Ask the server of `settings`, which must be `identity`."""
        self._settings = settings
        self._identity = identity
        self.leaves_out_generated = version_of(identity).leaves_out_generated

    def of(self, database: str, table: str, suspects: frozenset[str]) -> frozenset[str]:
        """Return the generated columns that the table has now, and `suspects` that it has not."""
        if not suspects and not self.leaves_out_generated:
            return frozenset()
        with SelectSession.on(self._identity, self._settings) as session:
            rows = session.query(
                "SELECT column_name AS name, generation_expression AS computed_as "  # noqa: S608 - quoted
                f"FROM information_schema.columns WHERE table_schema = {sql_text(database)} "
                f"AND table_name = {sql_text(table)}"
            )
        shown = {row["name"] for row in rows}
        return unlogged_columns(self._identity, rows) | (suspects - shown)
