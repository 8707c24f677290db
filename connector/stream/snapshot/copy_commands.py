"""Turns users' requests into copies: from `binlog-connector snapshot`, or from a signal.

The handlers of requests and of signals run in the pipeline. `execute-snapshot` with its
`additional-conditions` does what `binlog-connector snapshot` asks for.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import structlog

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConfigError, DefiniteError, RequestRefused, SourceRefused
from connector.foundation.settings.sections import Settings
from connector.stream.changes.signal_table import SignalTable
from connector.stream.commands import request_errors
from connector.stream.commands.requests import arguments_of, short_text, table_name
from connector.stream.commands.signals import Signal, SignalHandler
from connector.stream.envelope import record_errors
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.keyset import KEYS_CHARACTERS_MAX, KEYS_MAX
from connector.stream.snapshot.notifications import FAILED, UNKNOWN
from connector.stream.snapshot.table_plan import require_condition
from connector.stream.snapshot.table_state import TableState
from connector.stream.source import CONDITION_CHARACTERS_MAX

if TYPE_CHECKING:
    from connector.stream.snapshot.copies import Copies


# The command that says that nobody waits for the rows of failed copies.
DISMISSAL: Final = "dismiss-copies"

# Halves of surrogate pairs cannot be stored.
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class CopyCommand:
    """Tables to copy in the same way: each once, rows that meet `where`, and without `keys`."""

    tables: list[tuple[str, str]]
    where: str
    keys: list[str]
    surrogate_key: str = ""  # the column to read by; "" means the key

    @classmethod
    def read(cls, request: Mapping[str, Any], followed: TableFilter) -> CopyCommand:
        """Read `{"tables": [[database, table], …], "where": …, "keys": […]}`.

        The names are those that the log has, as `followed` says. If one of the tables is no name,
        nothing is done. Raises RequestRefused for another form.
        """
        arguments = arguments_of(request, "tables", "where", "keys")
        where = arguments.get("where", "")
        listed = arguments.get("tables")
        if (
            not isinstance(where, str)
            or len(where) > CONDITION_CHARACTERS_MAX
            or _SURROGATE.search(where)
        ):
            raise RequestRefused(request_errors.WHERE_NOT_TEXT, limit=CONDITION_CHARACTERS_MAX)
        tables = table_names(listed, followed)
        keys = _keys(arguments.get("keys", []))
        if keys and (not where or len(tables) != 1):
            raise RequestRefused(request_errors.KEYS_ALONE)
        return cls(tables, where, keys)

    def refusal(self) -> ConfigError | None:
        """Return why the condition is none for any table; None if it may be one."""
        try:
            if self.where:
                require_condition(self.where)
        except ConfigError as error:
            return error
        return None


def request_copy(
    copies: Copies, tables: TableFilter, offset: int, request: Mapping[str, Any]
) -> None:
    """Carry out a request; raises RequestRefused for one of another form."""
    command = CopyCommand.read(request, tables)
    start_copies(copies, tables, [command], offset, f"request {offset}")


def request_dismissal(
    copies: Copies, tables: TableFilter, offset: int, request: Mapping[str, Any]
) -> None:
    """Dismiss the failed copies of tables; raises RequestRefused for another form."""
    del offset
    for database, table in table_names(arguments_of(request, "tables").get("tables"), tables):
        copies.dismiss(database, table)


def start_copies(
    copies: Copies,
    tables: TableFilter,
    orders: Sequence[CopyCommand],
    number: int,
    reason: str,
    id_: str = "",
    *,
    together: bool = False,
) -> None:
    """Copy the tables of `orders` as one snapshot, for which the notifications have `id_`.

    The copy of a table that is not in the followed `tables` fails: they may have changed since the
    request. If the condition is none, all copies fail. `number` is `TableState.request`, and
    `reason` is what the log says.
    With `together`, the stream waits while all tables are copied at one position.
    """
    tables_of = [table for command in orders for table in command.tables]
    snapshot = copies.notifications.start(tables_of, id_, initial=together)
    group = uuid.uuid4().hex if together else ""
    for order in orders:
        refused = order.refusal()
        for database, table in order.tables:
            name, where = f"{database}.{table}", order.where
            failed: DefiniteError
            if not tables.follows(database, table):
                failed, status = SourceRefused(copy_errors.COPY_NOT_FOLLOWED, table=name), UNKNOWN
            elif refused is not None:
                failed, status = ConfigError(record_errors.IN_COPY, table=name, why=refused), FAILED
            else:
                copies.copy(
                    TableState(
                        database,
                        table,
                        reason=reason,
                        request=number,
                        where=where,
                        keys=list(order.keys),
                        snapshot=snapshot,
                        surrogate_key=order.surrogate_key,
                        together=group,
                    )
                )
                continue
            state = TableState(database, table, "failed", reason, number, where, error=str(failed))
            state.snapshot, state.together = snapshot, group
            copies.refuse(state, failed, status)
    copies.notifications.settle()


def table_names(listed: object, followed: TableFilter) -> list[tuple[str, str]]:
    """Return the tables of a list of pairs, each once, by the names that the log has.

    Raises RequestRefused for another form.
    """
    if not isinstance(listed, list) or not all(
        isinstance(names, list) and len(names) == len(("database", "table")) for names in listed
    ):
        raise RequestRefused(request_errors.TABLES_NOT_PAIRS)
    return list(dict.fromkeys(followed.logged_name(*table_name(*names)) for names in listed))


def _keys(listed: object) -> list[str]:
    """Return the keys of a request; raises RequestRefused for another list, or a long one.

    Only the table says later whether a text is a key.
    """
    if isinstance(listed, list) and len(listed) <= KEYS_MAX:
        texts = [key for key in listed if isinstance(key, str)]
        is_short = sum(map(len, texts)) <= KEYS_CHARACTERS_MAX
        if len(texts) == len(listed) and is_short and not _SURROGATE.search("".join(texts)):
            return texts
    raise RequestRefused(
        request_errors.KEYS_NOT_TEXTS, keys=KEYS_MAX, characters=KEYS_CHARACTERS_MAX
    )


_TABLES = "data-collections"
_CONDITIONS = "additional-conditions"
_SURROGATE_KEY = "surrogate-key"
_INCREMENTAL = "INCREMENTAL"
_BLOCKING = "BLOCKING"
_COLUMN_CHARACTERS_MAX = 64
# Characters of regular expressions that names of tables hardly have.
_EXPRESSION = re.compile(r"[\[\]*+?()|^\\{}]")


def signal_rows(settings: Settings, tables: TableFilter) -> SignalTable | None:
    """Return what takes signals from a table; raises ConfigError if the table is not followed."""
    name = settings.signals.table
    if name is None:
        return None
    database, _, table = name.partition(".")
    if not tables.follows(database, table):
        raise ConfigError(copy_errors.SIGNALS_NOT_FOLLOWED, table=name)
    return SignalTable(database, table, tables)


def signal_handlers(copies: Copies, tables: TableFilter) -> dict[str, SignalHandler]:
    """Return what does each signal; all raise RequestRefused for data that they cannot mean."""

    def execute(signal: Signal) -> None:
        orders = copy_commands(signal.data, tables)
        together = _type(signal.data) == _BLOCKING
        start_copies(
            copies,
            tables,
            orders,
            copies.signal_number(),
            f"signal {signal.offset}",
            signal.id,
            together=together,
        )

    def pause(signal: Signal, *, paused: bool) -> None:
        _arguments(signal.data)
        # Until `resume-snapshot`, or the end of the process.
        copies.pause(paused=paused)

    def log(signal: Signal) -> None:
        structlog.get_logger().info("a message", said=message_of(signal.data, signal.offset))

    return {
        "execute-snapshot": execute,
        "stop-snapshot": lambda signal: copies.stop(stopped_tables(signal.data, tables)),
        "pause-snapshot": partial(pause, paused=True),
        "resume-snapshot": partial(pause, paused=False),
        "log": log,
    }


def message_of(data: Mapping[str, Any], offset: int) -> str:
    """Return the message of `log` as one short line, in which `{}` stands for the offset.

    Raises RequestRefused without one.
    """
    message = arguments_of(data, "message").get("message")
    if not isinstance(message, str):
        raise RequestRefused(request_errors.NO_MESSAGE)
    return short_text(message.replace("{}", str(offset)))


def copy_commands(data: Mapping[str, Any], followed: TableFilter) -> list[CopyCommand]:
    """Return the orders of `execute-snapshot`, one for each way to copy its tables.

    Names are those that the log has, as `followed` says. Raises RequestRefused for data that it
    cannot mean.
    """
    arguments = _arguments(
        data, _TABLES, _CONDITIONS, _SURROGATE_KEY, types=(_INCREMENTAL, _BLOCKING)
    )
    tables = _names(arguments.get(_TABLES), followed)
    if not tables:
        raise RequestRefused(request_errors.DATA_COLLECTIONS)
    every = _column(arguments.get(_SURROGATE_KEY))
    conditions = _conditions(arguments.get(_CONDITIONS) or [], followed)
    ways: dict[tuple[str, str], list[list[str]]] = {}
    for table in tables:
        where, key = conditions.get(table, ("", ""))
        ways.setdefault((where, key or every), []).append([*table])
    return [
        replace(CopyCommand.read({"tables": listed, "where": where}, followed), surrogate_key=key)
        for (where, key), listed in ways.items()
    ]


def stopped_tables(data: Mapping[str, Any], followed: TableFilter) -> list[tuple[str, str]]:
    """Return the tables of `stop-snapshot`, none for all; raises as `copy_commands`."""
    return _names(_arguments(data, _TABLES).get(_TABLES) or [], followed)


def _arguments(
    data: Mapping[str, Any], *known: str, types: tuple[str, ...] = (_INCREMENTAL,)
) -> dict[str, Any]:
    """Return the data of a signal about copies.

    Raises RequestRefused for other keys than `known`, and for copies of other `types`.
    """
    arguments = arguments_of(data, "type", *known)
    if _type(data) not in types:
        raise RequestRefused(
            request_errors.SNAPSHOT_TYPE, type=short_text(data["type"]), known=types
        )
    return arguments


def _type(data: Mapping[str, Any]) -> str:
    """Return the type of a snapshot in capitals; "" if it is no text."""
    kind = data.get("type", _INCREMENTAL)
    return kind.upper() if isinstance(kind, str) else ""


def _names(listed: object, followed: TableFilter) -> list[tuple[str, str]]:
    """Return the tables of a list of `database.table`, each once."""
    if not isinstance(listed, list):
        raise RequestRefused(request_errors.DATA_COLLECTIONS)
    return list(dict.fromkeys(_name(text, followed) for text in listed))


def _name(text: object, followed: TableFilter) -> tuple[str, str]:
    """Return a table of a signal; a dot may be escaped, as in a regular expression."""
    plain = text.replace("\\.", ".") if isinstance(text, str) else ""
    database, _, table = plain.partition(".")
    if not (database and table) or _EXPRESSION.search(plain):
        raise RequestRefused(request_errors.DATA_COLLECTIONS)
    return followed.logged_name(*table_name(database, table))


def _conditions(listed: object, followed: TableFilter) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the filters and the surrogate keys of a signal by their tables."""
    conditions: dict[tuple[str, str], tuple[str, str]] = {}
    if not isinstance(listed, list):
        raise RequestRefused(request_errors.ADDITIONAL_CONDITIONS)
    for condition in listed:
        if not isinstance(condition, dict) or not isinstance(condition.get("filter"), str):
            raise RequestRefused(request_errors.ADDITIONAL_CONDITIONS)
        arguments_of(condition, "data-collection", "filter", _SURROGATE_KEY)
        table = _name(condition.get("data-collection"), followed)
        conditions[table] = (condition["filter"], _column(condition.get(_SURROGATE_KEY)))
    return conditions


def _column(name: object) -> str:
    """Return the name of a column, "" without one."""
    text = "" if name is None else name
    if not isinstance(text, str) or len(text) > _COLUMN_CHARACTERS_MAX or not text.isprintable():
        raise RequestRefused(request_errors.SURROGATE_KEY)
    return text
