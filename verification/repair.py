"""Rows that differ are copied again by the running pipeline, so the mirror gets them in order.

A copy with a condition brings rows that are missing or different. It cannot take rows back, so
surplus rows need a copy of the whole table, which begins by saying that all earlier rows are gone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from connector.errors import ConfigError, SinkUnavailable, SourceRefused, verification
from connector.snapshot.condition import CHARACTERS_MAX, Condition
from connector.snapshot.copy_request import StateWatch, ask
from verification.key_literals import condition_of_keys, plain_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from connector.settings.sections import Settings
    from connector.source.tables.selected_table import KeyColumn
    from verification.report import Difference
    from verification.settlement import Key

# Of several columns: the parser of conditions calls itself for each OR.
_KEYS_OF_A_COPY: Final = 20
# Of one column. A copy takes about a second, however few rows it has.
_KEYS_OF_A_LIST: Final = 500
ALL_ROWS: Final = ""


def copies_for(
    columns: Sequence[KeyColumn], keys: Sequence[Key], differences: Iterable[Difference]
) -> list[str]:
    """Return the conditions of the copies that repair rows; an empty one is a copy of all rows."""
    if any(each.kind == "surplus" for each in differences):
        return [ALL_ROWS]
    found = list(_conditions(columns, keys))
    try:
        for where in found:
            Condition.parse(where)
    except ConfigError:
        # Not every value can be written in a condition.
        return [ALL_ROWS]
    return found


def copy_again(settings: Settings, table: str, where: str, patience_seconds: float) -> None:
    """Ask the running pipeline for a copy, and wait for its end.

    Raises SinkUnavailable if nothing is heard of it for so long, SourceRefused if it fails, and the
    errors of asking.
    """
    with StateWatch(settings) as watch:
        asked = ask(settings, [table], where)
        heard = time.monotonic()
        is_over = False
        while not is_over:
            for state in watch.changed(asked):
                heard = time.monotonic()
                is_over = not state.under_way
                if state.phase == "failed":
                    raise SourceRefused(verification.COPY_FAILED, table=table, said=state.error)
            if time.monotonic() - heard > patience_seconds:
                raise SinkUnavailable(
                    verification.COPY_LAGS,
                    pipeline=settings.name,
                    table=table,
                    seconds=patience_seconds,
                )


def _conditions(columns: Sequence[KeyColumn], keys: Sequence[Key]) -> Iterator[str]:
    most = _KEYS_OF_A_LIST if len(columns) == 1 else _KEYS_OF_A_COPY
    start = 0
    while start < len(keys):
        count = min(most, len(keys) - start)
        while True:
            found = condition_of_keys(columns, keys[start : start + count], _literal)
            if count == 1 or len(found) <= CHARACTERS_MAX:
                break
            count //= 2
        yield found
        start += count


def _literal(column: KeyColumn, value: object) -> str:
    """Return a value in the form that a condition takes; others are refused by its parser."""
    del column
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    return plain_literal(value)
