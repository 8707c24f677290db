"""Rows that differ are copied again by the running pipeline, so the mirror gets them in order.

A copy with a condition brings rows that are missing or different. It takes surplus rows back if the
request lists the keys of their records. If one cannot be listed, the whole table is copied, and
that begins by saying that all earlier rows are gone.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from connector.foundation.errors import ConfigError, SinkUnavailable, SourceRefused
from connector.foundation.settings.sections import Settings
from connector.stream.snapshot.copy_requests import StateWatch, request_copies
from connector.stream.snapshot.keyset import KEYS_CHARACTERS_MAX, KEYS_MAX
from connector.stream.snapshot.table_plan import require_condition
from connector.stream.source import CONDITION_CHARACTERS_MAX
from connector.stream.source.selected_table import KeyColumn
from verification import verify_errors
from verification.key_texts import condition_of_keys, plain_literal
from verification.source_table import RowKey

# Of several columns: the parser of conditions calls itself for each OR.
_KEYS_OF_A_COPY: Final = 20
# Of one column. A copy takes about a second, however few rows it has.
_KEYS_OF_A_LIST: Final = 500
# The stream has the rows of surplus keys that are at the source again.
_NO_ROWS: Final = "FALSE"


class Repair(NamedTuple):
    """A copy to ask for."""

    where: str = ""  # all rows without it
    keys: Sequence[str] = ()  # of records; to take back if the source does not have their rows


ALL_ROWS: Final = Repair()


def copies_for(
    columns: Sequence[KeyColumn], keys: Sequence[RowKey], surplus: Sequence[str] | None
) -> list[Repair]:
    """Return the copies that repair rows: those with `keys` are missing or different.

    `surplus` has the keys of records of rows that only the mirror has; None if one has no such key.
    """
    if surplus is None:
        return [ALL_ROWS]
    repairs = [Repair(where) for where in _conditions(columns, keys)]
    try:
        for repair in repairs:
            require_condition(repair.where)
    except ConfigError:
        # Not every value can be written in a condition.
        return [ALL_ROWS]
    return [*(Repair(_NO_ROWS, some) for some in _lists(surplus)), *repairs]


def copy_again(settings: Settings, table: str, repair: Repair, patience_seconds: float) -> None:
    """Ask the running pipeline for a copy, and wait for its end.

    Raises SinkUnavailable if nothing is heard of it for so long, SourceRefused if it fails, and the
    errors of asking.
    """
    with StateWatch(settings) as watch:
        request = request_copies(settings, [table], repair.where, repair.keys)
        heard = time.monotonic()
        is_over = False
        while not is_over:
            for state in watch.changed(request):
                heard = time.monotonic()
                is_over = not state.under_way
                if state.phase == "failed":
                    raise SourceRefused(verify_errors.COPY_FAILED, table=table, said=state.error)
            if time.monotonic() - heard > patience_seconds:
                raise SinkUnavailable(
                    verify_errors.COPY_LAGS,
                    pipeline=settings.name,
                    table=table,
                    seconds=patience_seconds,
                )


def _lists(surplus: Sequence[str]) -> Iterator[list[str]]:
    """Yield keys as lists that a request can have."""
    some: list[str] = []
    for key in surplus:
        characters = sum(map(len, some)) + len(key)
        if some and (len(some) == KEYS_MAX or characters > KEYS_CHARACTERS_MAX):
            yield some
            some = []
        some.append(key)
    if some:
        yield some


def _conditions(columns: Sequence[KeyColumn], keys: Sequence[RowKey]) -> Iterator[str]:
    most = _KEYS_OF_A_LIST if len(columns) == 1 else _KEYS_OF_A_COPY
    start = 0
    while start < len(keys):
        count = min(most, len(keys) - start)
        while True:
            condition = condition_of_keys(columns, keys[start : start + count], _literal)
            if count == 1 or len(condition) <= CONDITION_CHARACTERS_MAX:
                break
            count //= 2
        yield condition
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
