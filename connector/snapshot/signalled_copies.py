"""What signals in the form of Debezium do to copies of tables.

`execute-snapshot` with its `additional-conditions` does what `binlog-connector snapshot` asks for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog

from connector.changes.signal_rows import SignalRows
from connector.errors import ConfigError, RequestRefused, pipeline_settings, requests
from connector.sink.request import arguments_of, shown, table_name
from connector.snapshot.copy_orders import CopyOrder, carry_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.changes.table_filter import TableFilter
    from connector.settings.sections import Settings
    from connector.sink.signal import Signal, SignalHandler
    from connector.snapshot.copies import Copies

_TABLES = "data-collections"
_CONDITIONS = "additional-conditions"
_KEY = "surrogate-key"
_INCREMENTAL = "INCREMENTAL"
_BLOCKING = "BLOCKING"
_COLUMN_CHARACTERS_MAX = 64
# Characters of regular expressions that names of tables hardly have.
_EXPRESSION = re.compile(r"[\[\]*+?()|^\\{}]")


def signal_rows(settings: Settings, tables: TableFilter) -> SignalRows | None:
    """Return what takes signals from a table; raises ConfigError if the table is not followed."""
    name = settings.signals.table
    if name is None:
        return None
    database, _, table = name.partition(".")
    if not tables.follows(database, table):
        raise ConfigError(pipeline_settings.SIGNALS_NOT_FOLLOWED, table=name)
    return SignalRows(database, table)


class SignalledCopies:
    """Starts, ends and pauses the copies of a pipeline."""

    def __init__(self, copies: Copies, tables: TableFilter) -> None:
        """Copy followed `tables` by `copies`."""
        self._copies = copies
        self._tables = tables

    @property
    def handlers(self) -> dict[str, SignalHandler]:
        """What does each signal; all raise RequestRefused for data that they cannot mean."""
        return {
            "execute-snapshot": self.execute,
            "stop-snapshot": self.stop,
            "pause-snapshot": self.pause,
            "resume-snapshot": self.resume,
            "log": self.log,
        }

    def execute(self, signal: Signal) -> None:
        """Copy the tables of a signal."""
        orders = copy_orders(signal.data)
        together = _type(signal.data) == _BLOCKING
        carry_out(
            self._copies,
            self._tables,
            signal.offset,
            orders,
            "signal",
            signal.id,
            together=together,
        )

    def stop(self, signal: Signal) -> None:
        """End the copies of the tables of a signal; of all tables if it names none."""
        self._copies.stop(stopped_tables(signal.data))

    def pause(self, signal: Signal) -> None:
        """Read no more rows until `resume`, or a restart."""
        _arguments(signal.data)
        self._copies.pause(paused=True)

    def resume(self, signal: Signal) -> None:
        """Go on reading rows."""
        _arguments(signal.data)
        self._copies.pause(paused=False)

    def log(self, signal: Signal) -> None:
        """Write the message of a signal to the log; `{}` stands for the signal's offset."""
        structlog.get_logger().info("a message", said=message_of(signal.data, signal.offset))


def message_of(data: Mapping[str, Any], offset: int) -> str:
    """Return the message of `log` as one short line; raises RequestRefused without one."""
    message = arguments_of(data, "message").get("message")
    if not isinstance(message, str):
        raise RequestRefused(requests.NO_MESSAGE)
    return shown(message.replace("{}", str(offset)))


def copy_orders(data: Mapping[str, Any]) -> list[CopyOrder]:
    """Return the orders of `execute-snapshot`, one for each way to copy its tables.

    Raises RequestRefused for data that it cannot mean.
    """
    arguments = _arguments(data, _TABLES, _CONDITIONS, _KEY, types=(_INCREMENTAL, _BLOCKING))
    tables = _names(arguments.get(_TABLES))
    if not tables:
        raise RequestRefused(requests.DATA_COLLECTIONS)
    every = _column(arguments.get(_KEY))
    conditions = _conditions(arguments.get(_CONDITIONS) or [])
    ways: dict[tuple[str, str], list[list[str]]] = {}
    for table in tables:
        where, key = conditions.get(table, ("", ""))
        ways.setdefault((where, key or every), []).append([*table])
    return [
        replace(CopyOrder.read({"tables": listed, "where": where}), surrogate_key=key)
        for (where, key), listed in ways.items()
    ]


def stopped_tables(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the tables of `stop-snapshot`, none for all; raises as `copy_orders`."""
    return _names(_arguments(data, _TABLES).get(_TABLES) or [])


def _arguments(
    data: Mapping[str, Any], *known: str, types: tuple[str, ...] = (_INCREMENTAL,)
) -> dict[str, Any]:
    """Return the data of a signal about copies.

    Raises RequestRefused for other keys than `known`, and for copies of other `types`.
    """
    arguments = arguments_of(data, "type", *known)
    if _type(data) not in types:
        raise RequestRefused(requests.SNAPSHOT_TYPE, type=shown(data["type"]), known=types)
    return arguments


def _type(data: Mapping[str, Any]) -> str:
    """Return the type of a snapshot in capitals; "" if it is no text."""
    kind = data.get("type", _INCREMENTAL)
    return kind.upper() if isinstance(kind, str) else ""


def _names(listed: object) -> list[tuple[str, str]]:
    """Return the tables of a list of `database.table`, each once."""
    if not isinstance(listed, list):
        raise RequestRefused(requests.DATA_COLLECTIONS)
    return list(dict.fromkeys(map(_name, listed)))


def _name(text: object) -> tuple[str, str]:
    """Return a table of a signal; a dot may be escaped, as in a regular expression."""
    plain = text.replace("\\.", ".") if isinstance(text, str) else ""
    database, _, table = plain.partition(".")
    if not (database and table) or _EXPRESSION.search(plain):
        raise RequestRefused(requests.DATA_COLLECTIONS)
    return table_name(database, table)


def _conditions(listed: object) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the filters and the surrogate keys of a signal by their tables."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    if not isinstance(listed, list):
        raise RequestRefused(requests.ADDITIONAL_CONDITIONS)
    for each in listed:
        if not isinstance(each, dict) or not isinstance(each.get("filter"), str):
            raise RequestRefused(requests.ADDITIONAL_CONDITIONS)
        arguments_of(each, "data-collection", "filter", _KEY)
        table = _name(each.get("data-collection"))
        found[table] = (each["filter"], _column(each.get(_KEY)))
    return found


def _column(name: object) -> str:
    """Return the name of a column, "" without one."""
    text = "" if name is None else name
    if not isinstance(text, str) or len(text) > _COLUMN_CHARACTERS_MAX or not text.isprintable():
        raise RequestRefused(requests.SURROGATE_KEY)
    return text
