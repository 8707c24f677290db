"""The list of a mirror's tables for people: what is wrong first, then what is hot.

Of thousands of tables, a list shows the ones that need somebody, those whose records wait longest,
and those that have changed last; and it counts the others.
"""

import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from connector.foundation.errors.message import visible
from connector.foundation.table_view import ALL_TABLES, TableView
from stream_jobs.run import overview

_TITLES: Final = ("table", "state", "mode", "version", "rows", "dead", "files", "bytes", "waiting")
_TIMES: Final = ("waits since", "committed", "changed at the source")
_FIRST_NUMBER: Final = 3
_KILO: Final = 1024
# In this order.
_STATES: Final = (
    overview.SET_ASIDE, overview.RESUMING, overview.UNREADABLE, overview.LOADING, overview.WAITING,
    overview.CURRENT, overview.NO_MIRROR, overview.NO_KEY, overview.SKIPPED,
)  # fmt: skip


def print_tables(
    statuses: list[overview.TableStatus],
    config: Path,
    console: Console,
    view: TableView = ALL_TABLES,
) -> None:
    """Print the most urgent of `statuses`, why some cannot go on, and a count of all."""
    if not statuses:
        fits = f", or none fits {visible(view.pattern)}" if view.is_narrow else ""
        console.print(f"no table has arrived in Kafka yet{fits}", markup=False)
        return
    shown = by_urgency(statuses)[: view.limit]
    console.print(_table(shown))
    console.print(_counts(statuses, view), soft_wrap=True)
    for status in shown:
        if status.is_fine:
            continue
        text = Text(f"{visible(status.table)}: ", style="bold")
        text.append(visible(_reason(status)), style="not bold")
        console.print(text, soft_wrap=True)
    for status in shown:
        if status.iceberg_code is not None:
            since = "" if status.iceberg_since is None else f" since {status.iceberg_since}"
            text = Text(f"{visible(status.table)}: ", style="bold")
            reason = visible(
                f"not published to Iceberg{since}, [{status.iceberg_code}] {status.iceberg_reason}"
            )
            console.print(text.append(reason, style="not bold"), soft_wrap=True)
    if not all(status.is_fine for status in statuses):
        hint = f"`binlog-connector-mirror resume {config} TABLE` tries a table again"
        console.print(hint, markup=False, soft_wrap=True)


def by_urgency(statuses: list[overview.TableStatus]) -> list[overview.TableStatus]:
    """Return the tables that cannot go on, those that are late, and the others by what waits.

    Where nothing waits, a table that has changed last comes first.
    """
    now = time.time()

    def rank(status: overview.TableStatus) -> tuple[object, ...]:
        if not status.is_fine or status.iceberg_code is not None:
            return 0, _STATES.index(status.state), status.table
        if status.is_late(now):
            return 1, status.waiting_since, status.table
        change = status.last_change
        changed_at = 0.0 if change is None else datetime.fromisoformat(change).timestamp()
        return 2, -(status.waiting or 0), -changed_at, status.table

    return sorted(statuses, key=rank)


def _counts(statuses: list[overview.TableStatus], view: TableView) -> Text:
    """Return how many tables there are, by state, and how to see those that are not shown."""
    counts = Counter(status.state for status in statuses)
    states = ", ".join(f"{counts[state]:,} {state}" for state in _STATES if counts[state])
    count = len(statuses)
    text = Text(f"{count:,} {'table' if count == 1 else 'tables'}: {states}", "dim")
    if lost := sum(status.lost for status in statuses):
        text.append(f"; {lost:,} lack records that Kafka has deleted")
    if hint := view.hint(count):
        text.append(f"; {hint}")
    return text


def _table(statuses: list[overview.TableStatus]) -> Table:
    table, now = Table(box=None, pad_edge=False), time.time()
    has_iceberg = any(status.iceberg_version is not None for status in statuses)
    for number, title in enumerate((*_TITLES, *_TIMES, *(["Iceberg"] if has_iceberg else []))):
        is_number = _FIRST_NUMBER <= number < len(_TITLES)
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(title, overflow="fold", justify=justify)
    for status in statuses:
        style = (
            "green" if status.state == overview.CURRENT else "" if status.is_fine else "bold red"
        )
        if status.state in (overview.WAITING, overview.LOADING) and status.is_late(now):
            style = "yellow"
        if (
            status.state in (overview.NO_KEY, overview.NO_MIRROR, overview.SKIPPED)
            and status.is_fine
        ):
            style = "dim"
        numbers = (status.version, status.rows, status.dead_rows, status.files)
        table.add_row(
            Text(visible(status.table)),
            Text(status.state, style=style),
            status.mode or "",
            *("" if number is None else f"{number:,}" for number in numbers),
            "" if status.bytes is None else _size(status.bytes),
            "" if status.waiting is None else f"{status.waiting:,}",
            status.waiting_since or "",
            status.last_commit or "",
            status.last_change or "",
            *([_iceberg(status)] if has_iceberg else []),
        )
    return table


def _iceberg(status: overview.TableStatus) -> Text:
    """Return the version that is published, and whether another one waits."""
    if status.iceberg_version is None:
        return Text("")
    if status.iceberg_until is not None:
        return Text(f"{status.iceberg_version:,}, kept until {status.iceberg_until}", "dim")
    is_newest = status.iceberg_version == status.version
    return Text(f"{status.iceberg_version:,}", "" if is_newest else "yellow")


def _reason(status: overview.TableStatus) -> str:
    since = f" since {status.since}" if status.since else ""
    reason = f", [{status.code}] {status.reason}" if status.reason else ""
    lost = (
        "; Kafka has deleted records that it needs: let the connector copy the table again "
        "(`binlog-connector snapshot`), and then use `resume --rebuild`"
        if status.lost
        else ""
    )
    kept = f"; Kafka keeps what it needs until {status.kept_until}" if status.kept_until else ""
    return f"{status.state}{since}{reason}{lost}{kept}"


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < _KILO:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= _KILO
    return f"{size:,.1f} TiB"
