"""What a user asks for becomes copies: by `binlog-connector snapshot`, or by a signal."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from connector.errors import ConfigError, RequestRefused, SourceRefused, requests, table_rows
from connector.errors import copies as codes
from connector.sink.request import arguments_of, table_name
from connector.snapshot.condition_limits import CHARACTERS_MAX
from connector.snapshot.condition_text import require_condition
from connector.snapshot.listed_keys import KEYS_CHARACTERS_MAX, KEYS_MAX
from connector.snapshot.table_state import TableState
from connector.snapshot.told_snapshots import FAILED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from connector.changes.table_filter import TableFilter
    from connector.errors import DefiniteError
    from connector.snapshot.copies import Copies

# The command that says that nobody waits for the rows of failed copies.
DISMISSAL: Final = "dismiss-copies"

# Halves of surrogate pairs cannot be stored.
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class CopyOrder:
    """Tables to copy in the same way: each once, rows that meet `where`, and without `keys`."""

    tables: list[tuple[str, str]]
    where: str
    keys: list[str]
    surrogate_key: str = ""  # the column to read by; "" means the key

    @classmethod
    def read(cls, request: Mapping[str, Any]) -> CopyOrder:
        """Read `{"tables": [[database, table], …], "where": …, "keys": […]}`.

        If one of the tables is no name, nothing is done. Raises RequestRefused for another form.
        """
        arguments = arguments_of(request, "tables", "where", "keys")
        where = arguments.get("where", "")
        listed = arguments.get("tables")
        if not isinstance(where, str) or len(where) > CHARACTERS_MAX or _SURROGATE.search(where):
            raise RequestRefused(requests.WHERE_NOT_TEXT, limit=CHARACTERS_MAX)
        tables = table_names(listed)
        keys = _keys(arguments.get("keys", []))
        if keys and (not where or len(tables) != 1):
            raise RequestRefused(requests.KEYS_ALONE)
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
    carry_out(copies, tables, offset, [CopyOrder.read(request)], "request")


def request_dismissal(copies: Copies, offset: int, request: Mapping[str, Any]) -> None:
    """Dismiss the failed copies of tables; raises RequestRefused for another form."""
    del offset
    for database, table in table_names(arguments_of(request, "tables").get("tables")):
        copies.dismiss(database, table)


def carry_out(
    copies: Copies,
    tables: TableFilter,
    offset: int,
    orders: Sequence[CopyOrder],
    noun: str,
    id_: str = "",
    *,
    together: bool = False,
) -> None:
    """Copy the tables of `orders` as one snapshot, for which the notifications have `id_`.

    The copy of a table that is not in the followed `tables` fails: they may have changed since the
    request. If the condition is none, all copies fail. `noun` is what the log calls the request.
    With `together`, the stream waits while all tables are copied at one position.
    """
    asked = f"{noun} {offset}"
    tables_of = [table for each in orders for table in each.tables]
    snapshot = copies.told.start(tables_of, id_, initial=together)
    group = uuid.uuid4().hex if together else ""
    for order in orders:
        refused = order.refusal()
        for database, table in order.tables:
            name, where = f"{database}.{table}", order.where
            failed: DefiniteError
            if not tables.follows(database, table):
                failed, status = SourceRefused(codes.COPY_NOT_FOLLOWED, table=name), UNKNOWN
            elif refused is not None:
                failed, status = ConfigError(table_rows.IN_COPY, table=name, why=refused), FAILED
            else:
                copies.copy(
                    database,
                    table,
                    asked,
                    request=offset,
                    where=where,
                    keys=order.keys,
                    snapshot=snapshot,
                    surrogate_key=order.surrogate_key,
                    together=group,
                )
                continue
            state = TableState(database, table, "failed", asked, offset, where, error=str(failed))
            state.snapshot, state.together = snapshot, group
            copies.refuse(state, failed, status)
    copies.told.settle()


def table_names(listed: object) -> list[tuple[str, str]]:
    """Return the tables of a list of pairs, each once; raises RequestRefused for another form."""
    if not isinstance(listed, list) or not all(
        isinstance(names, list) and len(names) == len(("database", "table")) for names in listed
    ):
        raise RequestRefused(requests.TABLES_NOT_PAIRS)
    return list(dict.fromkeys(table_name(*names) for names in listed))


def _keys(listed: object) -> list[str]:
    """Return the keys of a request; raises RequestRefused for another list, or a long one.

    Only the table says later whether a text is a key.
    """
    if isinstance(listed, list) and len(listed) <= KEYS_MAX:
        texts = [each for each in listed if isinstance(each, str)]
        is_short = sum(map(len, texts)) <= KEYS_CHARACTERS_MAX
        if len(texts) == len(listed) and is_short and not _SURROGATE.search("".join(texts)):
            return texts
    raise RequestRefused(requests.KEYS_NOT_TEXTS, keys=KEYS_MAX, characters=KEYS_CHARACTERS_MAX)
