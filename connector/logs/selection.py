"""The filters of a command: which events of its logs it shows.

All filters must match. A selected change is shown with the events that a reader needs with it:
those that open and close its transaction, the text of its statement, its table map. A transaction
without a selected change is not shown at all.

::

    GTID  BEGIN │ rows query  table map  rows │ … │ XID
    └──── held until a change of the transaction is selected, else dropped ────┘

Two kinds of events are always shown: the events about the log itself (its format, its rotation, the
GTIDs of earlier logs), unless the selection names types; and the format description before a start
position or time, because no later event can be read without it.

The scope of an event says what it is to a selection: about the log, about a transaction, or a
change of tables. The tables of a row change are known. A statement concerns the tables that its
text names (DDL), else those of the databases that the server lists with it. If the server lists
none, as MariaDB does, they are the default database and those that the text names; if the statement
touched too many to list them, it may concern every table.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum, auto
from fnmatch import fnmatchcase
from typing import NamedTuple

from connector.binlog import argument_errors
from connector.binlog.event import Event, EventBody, TransactionPayloadEvent
from connector.binlog.events import load, transaction
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent
from connector.binlog.events.control import RotateEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.mariadb import AnnotateRowsEvent, MariadbGtidEvent, PartialRowDataEvent
from connector.binlog.events.query import QueryEvent, RowsQueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.header import EventType
from connector.binlog.statement import StatementKind, named_databases, statement_of
from connector.binlog.table_filter import TableFilter
from connector.binlog.transactions.transaction_bounds import rows_event_of
from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import nearest

GTID_EVENTS = (
    transaction.GtidEvent,
    GtidTaggedEvent,
    transaction.AnonymousGtidEvent,
    MariadbGtidEvent,
)


class EventScope(Enum):
    """The part that an event plays."""

    LOG = auto()  # about the log: its format, its end, the contents of earlier logs
    OPENS = auto()  # begins a transaction: its GTID, BEGIN
    WITHIN = auto()  # steers the transaction: SAVEPOINT
    PREFIX = auto()  # belongs to the change that follows it
    CHANGE = auto()  # changes something: rows, a statement
    PAYLOAD = auto()  # holds all of these
    CLOSES = auto()  # ends the transaction


# A statement that controls transactions; every other one changes something.
_CONTROL = {
    StatementKind.BEGIN: EventScope.OPENS,
    StatementKind.SAVEPOINT: EventScope.WITHIN,
    StatementKind.ROLLBACK_TO: EventScope.WITHIN,
    StatementKind.COMMIT: EventScope.CLOSES,
    StatementKind.ROLLBACK: EventScope.CLOSES,
}
_XA_PHASES = {
    "START": EventScope.OPENS,
    "BEGIN": EventScope.OPENS,
    "END": EventScope.WITHIN,
}
_CHANGES = (
    RowsEvent,
    load.LoadEvent,
    load.CreateFileEvent,
    load.AppendBlockEvent,
    load.BeginLoadQueryEvent,
    load.ExecLoadEvent,
    load.DeleteFileEvent,
)
_PREFIXES = (
    TableMapEvent,
    RowsQueryEvent,
    AnnotateRowsEvent,
    IntvarEvent,
    RandEvent,
    UserVarEvent,
)


def scope_of(body: EventBody) -> EventScope:
    """Return the part that an event with this body plays."""
    if isinstance(body, _CHANGES):
        return EventScope.CHANGE
    if isinstance(body, PartialRowDataEvent):
        # The last fragment completes the rows; only then the table is known.
        return EventScope.PREFIX if body.rows_event is None else EventScope.CHANGE
    if isinstance(body, _PREFIXES):
        return EventScope.PREFIX
    if isinstance(body, GTID_EVENTS):
        return EventScope.OPENS
    if isinstance(body, QueryEvent):
        return _scope_of_statement(body)
    if isinstance(body, (transaction.XidEvent, transaction.XaPrepareEvent)):
        return EventScope.CLOSES
    if isinstance(body, TransactionPayloadEvent):
        return EventScope.PAYLOAD
    return EventScope.LOG


def _scope_of_statement(body: QueryEvent) -> EventScope:
    statement = statement_of(body)
    if statement.kind is not StatementKind.XA:
        return _CONTROL.get(statement.kind, EventScope.CHANGE)
    # XA START and XA END are around the rows, XA COMMIT and XA ROLLBACK are alone.
    return _XA_PHASES.get(statement.xa_phase, EventScope.CLOSES)


def touches(body: EventBody, tables: TableFilter) -> bool:
    """Return whether the change or the table map concerns one of `tables`.

    The blocks of a file of LOAD DATA name no table, so they always do.
    """
    rows = rows_event_of(body)
    if rows is not None:
        return tables.follows(rows.table_map.schema, rows.table_map.table)
    if isinstance(body, (TableMapEvent, load.LoadEvent, load.CreateFileEvent)):
        return tables.follows(body.schema, body.table)
    if isinstance(body, QueryEvent):
        return _statement_touches(body, tables)
    return True


def _statement_touches(body: QueryEvent, tables: TableFilter) -> bool:
    named = statement_of(body).tables
    if named:
        return any(tables.may_name(database or body.schema, table) for database, table in named)
    if body.status_variables.too_many_databases:
        return True
    databases = body.updated_databases
    # MariaDB does not list them.
    return any(
        tables.may_name(database, "")
        for database in (named_databases(body) if databases is None else databases)
    )


_START_EVENTS = (FormatDescriptionEvent, StartEventV3)
_SUFFIXES = ("", "_EVENT", "_LOG_EVENT")


class SelectionOptions(NamedTuple):
    """The filters; the defaults select all events."""

    start_datetime: datetime | None = None  # from the first event at or after it
    stop_datetime: datetime | None = None  # up to the first event at or after it
    # A MariaDB position means all transactions up to it.
    include_gtids: GtidSet | MariadbGtidSet | None = None
    exclude_gtids: GtidSet | MariadbGtidSet | None = None
    tables: TableFilter | None = None
    types: frozenset[int] | None = None
    server_ids: frozenset[int] = frozenset()

    @property
    def only_tables(self) -> TableFilter | None:
        """The tables, if it depends on them alone which whole transactions are selected."""
        others = (
            self.start_datetime, self.stop_datetime, self.include_gtids, self.exclude_gtids
        )  # fmt: skip
        return self.tables if all(other is None for other in others) else None


def types_of(patterns: Sequence[str]) -> frozenset[int] | None:
    """Return the event types that match any of `patterns`, None for no pattern.

    A pattern is a constant's name in any letter case, with `*`, `?` and `[…]`; its _EVENT or
    _LOG_EVENT may be left out. Raises ConfigError for a pattern that matches no type.
    """
    if not patterns:
        return None
    types: set[int] = set()
    for pattern in patterns:
        names = [pattern.upper() + suffix for suffix in _SUFFIXES]
        matched = {
            event_type.value
            for event_type in EventType
            if any(fnmatchcase(event_type.name, name) for name in names)
        }
        if not matched:
            meant = nearest(pattern.upper(), _type_names())
            if meant is None:
                raise ConfigError(argument_errors.NO_EVENT_TYPE, pattern=pattern)
            raise ConfigError(argument_errors.OTHER_EVENT_TYPE, pattern=pattern, meant=meant)
        types |= matched
    return frozenset(types)


def _type_names() -> Iterator[str]:
    """Yield every spelling of an event type."""
    for event_type in EventType:
        for suffix in _SUFFIXES:
            yield event_type.name.removesuffix(suffix)


def is_artificial(event: Event) -> bool:
    """Return whether a server made the event up for its replica, so that no log holds it.

    Examples are the ROTATE that names the first log, and the format description if reading begins
    in the middle of a log.
    """
    return event.next_position == event.position and not event.header.log_pos


class Selection:
    """Selects events of one command, in their order."""

    def __init__(self, options: SelectionOptions) -> None:
        self.finished = False  # no later event is selected
        self._options = options
        start, stop = options.start_datetime, options.stop_datetime
        self._start = None if start is None else start.timestamp()
        self._stop = None if stop is None else stop.timestamp()
        self._by_gtid = options.include_gtids is not None or options.exclude_gtids is not None
        # Whether the current transaction is selected by its GTID; without one it is in no set.
        self._gtid_selected = options.include_gtids is None
        self._transaction = _Transaction()

    def select(self, event: Event) -> Iterator[Event]:
        """Yield the events that are now known to be selected; earlier ones may be among them.

        Raises ConfigError for a GTID that cannot be compared with the sets.
        """
        if self.finished or not self._is_due(event):
            return
        options = self._options
        if self._by_gtid and not self._is_in_selected_transaction(event):
            return
        if options.server_ids and not self._is_of_server(event):
            return
        chosen: Iterable[Event] = (event,)
        if isinstance(event.body, TransactionPayloadEvent):
            narrowed = self._narrow(event, event.body)
            chosen = self._transaction.take_whole(narrowed)
        elif options.tables is not None:
            chosen = self._transaction.take(event, options.tables)
        types = options.types
        for selected in chosen:
            if types is None or selected.header.type_code in types or _is_payload(selected):
                yield selected

    def _is_due(self, event: Event) -> bool:
        if is_artificial(event):
            return False
        if isinstance(event.body, _START_EVENTS):
            return True
        if self._start is not None:
            if event.header.timestamp < self._start:
                return False
            # From here on everything is selected, even if a clock went back.
            self._start = None
        if self._stop is not None and event.header.timestamp >= self._stop:
            self.finished = True
            return False
        return True

    def _is_in_selected_transaction(self, event: Event) -> bool:
        body = event.body
        if isinstance(body, GTID_EVENTS):
            gtid = None if isinstance(body, transaction.AnonymousGtidEvent) else body.gtid
            include, exclude = self._options.include_gtids, self._options.exclude_gtids
            self._gtid_selected = (
                include is None or _contains(include, gtid, "--include-gtids")
            ) and not (exclude is not None and _contains(exclude, gtid, "--exclude-gtids"))
        return self._gtid_selected or scope_of(body) is EventScope.LOG

    def _is_of_server(self, event: Event) -> bool:
        if isinstance(event.body, (*_START_EVENTS, RotateEvent)):
            return True
        return event.header.server_id in self._options.server_ids

    def _narrow(self, event: Event, body: TransactionPayloadEvent) -> Event | None:
        """Return the compressed transaction with only its selected events, None without any."""
        options = self._options
        types = options.types
        if types is not None and event.header.type_code in types:
            types = None
        if options.tables is None and types is None:
            return event
        inner = SelectionOptions(tables=options.tables, types=types)

        def view(events: Iterator[Event]) -> Iterator[Event]:
            selection = Selection(inner)
            for inner_event in events:
                yield from selection.select(inner_event)

        narrowed = replace(body, view=view)
        return event.with_body(narrowed) if any(True for _ in narrowed.events()) else None


class _Transaction:
    """The current transaction: its events are held until one of its changes is selected."""

    def __init__(self) -> None:
        self._opening: list[Event] = []
        self._prefix: list[Event] = []  # of the current statement
        self._inside = False  # after BEGIN
        self._selected = False

    def take(self, event: Event, tables: TableFilter) -> Iterator[Event]:
        """Yield the events that are selected because of `event`."""
        body = event.body
        scope = scope_of(body)
        if scope is EventScope.LOG:
            yield event
        elif scope is EventScope.OPENS:
            if isinstance(body, GTID_EVENTS):
                self._reset()
                self._inside = isinstance(body, MariadbGtidEvent) and not body.standalone
            else:
                self._inside = True
            yield from self._steer(event)
        elif scope is EventScope.WITHIN:
            yield from self._steer(event)
        elif scope is EventScope.PREFIX:
            if touches(body, tables) or not isinstance(body, TableMapEvent):
                self._prefix.append(event)
        elif scope is EventScope.CHANGE:
            yield from self._change(event, touches(body, tables))
        else:
            if self._selected:
                yield event
            self._reset()

    def take_whole(self, event: Event | None) -> Iterator[Event]:
        """Yield the events that are selected because of a payload, which ends the transaction."""
        if event is not None:
            yield from self._opening
            yield event
        self._reset()

    def _steer(self, event: Event) -> Iterator[Event]:
        if self._selected:
            yield event
        else:
            self._opening.append(event)

    def _change(self, event: Event, selected: bool) -> Iterator[Event]:
        if selected:
            yield from self._opening
            yield from self._prefix
            yield event
            self._opening.clear()
            self._prefix.clear()
            self._selected = True
        rows = rows_event_of(event.body)
        if rows is None or rows.stmt_end:
            self._prefix.clear()
        if rows is None and not self._inside:
            self._reset()

    def _reset(self) -> None:
        self._opening.clear()
        self._prefix.clear()
        self._inside = self._selected = False


def _contains(
    gtids: GtidSet | MariadbGtidSet, gtid: Gtid | MariadbGtid | None, option: str
) -> bool:
    """Return whether the set of an option has `gtid`; false for None.

    Raises ConfigError for a GTID of another flavour.
    """
    if gtid is None or not gtids:
        return False
    if isinstance(gtids, GtidSet):
        if isinstance(gtid, Gtid):
            return gtid in gtids
    elif isinstance(gtid, MariadbGtid):
        return gtid in gtids
    raise ConfigError(argument_errors.OTHER_FLAVOUR, argument=option, gtids=gtids, gtid=gtid)


def _is_payload(event: Event) -> bool:
    return isinstance(event.body, TransactionPayloadEvent)
