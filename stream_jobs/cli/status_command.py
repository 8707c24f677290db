"""`binlog-connector-mirror status`: the tables of a mirror, for people or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream_jobs.delta.storages import storage_of
from stream_jobs.report.overview import CURRENT, NO_KEY, NO_MIRROR, SKIPPED, Overview
from stream_jobs.run.owner import Owner, Ownership
from stream_jobs.source.client import KafkaClient

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from stream_jobs.report.overview import TableStatus
    from stream_jobs.settings import Settings

EXIT_FINE = 0
EXIT_SET_ASIDE = 3

# The width of the output if it is not a terminal.
_WIDTH = 200
_TITLES = ("table", "state", "mode", "version", "rows", "dead", "files", "bytes", "waiting")
_TIMES = ("committed", "changed at the source")
_FIRST_NUMBER = 3
_KILO = 1024


def show_status(settings: Settings, config: Path, out: TextIO, *, as_json: bool) -> int:
    """Print all tables to `out`, and return the exit code.

    Raises MirrorError if Kafka or the storage do not answer.
    """
    storage = storage_of(settings.mirror.path)
    client = KafkaClient(settings.kafka.facts())
    try:
        found = Overview(settings, storage, client).tables()
    finally:
        client.close()
    here = Owner.here(settings.name, settings.kafka.topic_prefix)
    owner = Ownership(storage, settings.mirror.path, here).newest()
    if as_json:
        job = None if owner is None else asdict(owner)
        print(json.dumps({"job": job, "tables": [asdict(each) for each in found]}), file=out)
    else:
        _print(found, owner, config, out)
    return EXIT_FINE if all(each.is_fine for each in found) else EXIT_SET_ASIDE


def _print(found: list[TableStatus], owner: Owner | None, config: Path, out: TextIO) -> None:
    console = Console(file=out)
    if not console.is_terminal:
        console = Console(file=out, width=_WIDTH)
    if owner is not None:
        line = (
            f"job {owner.name}, last started {owner.since} as process {owner.pid} on {owner.host}"
        )
        console.print(line, markup=False, highlight=False)
    if not found:
        console.print("no table has arrived in Kafka yet")
        return
    console.print(_table(found))
    for each in found:
        if each.is_fine:
            continue
        text = Text(f"{each.table}: ", style="bold").append(_reason(each), style="not bold")
        console.print(text, soft_wrap=True)
    if not all(each.is_fine for each in found):
        hint = f"`binlog-connector-mirror resume {config} TABLE` tries a table again"
        console.print(hint, markup=False, soft_wrap=True)


def _table(found: list[TableStatus]) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, title in enumerate((*_TITLES, *_TIMES)):
        is_number = _FIRST_NUMBER <= number < len(_TITLES)
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(title, overflow="fold", justify=justify)
    for each in found:
        style = "green" if each.state == CURRENT else "" if each.is_fine else "bold red"
        if each.state in (NO_KEY, NO_MIRROR, SKIPPED) and each.is_fine:
            style = "dim"
        numbers = (each.version, each.rows, each.dead_rows, each.files)
        table.add_row(
            Text(each.table),
            Text(each.state, style=style),
            each.mode or "",
            *("" if number is None else f"{number:,}" for number in numbers),
            "" if each.bytes is None else _size(each.bytes),
            "" if each.waiting is None else f"{each.waiting:,}",
            each.last_commit or "",
            each.last_change or "",
        )
    return table


def _reason(status: TableStatus) -> str:
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
