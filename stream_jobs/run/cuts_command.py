"""`binlog-connector-mirror cuts`: the cuts of a mirror, for people or as JSON."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from connector.foundation.errors.visible import visible
from stream_jobs.cuts import Cut, read_cuts
from stream_jobs.delta.storages import storage_of
from stream_jobs.settings import Settings

# The width of the output if it is not a terminal.
_WIDTH = 200
_TITLES = ("cut", "committed at the source", "transactions", "cdc.seq", "tables", "left out")
_GTID_CHARACTERS = 60


def show_cuts(settings: Settings, out: TextIO, *, as_json: bool) -> None:
    """Print all cuts to `out`, the oldest first. Raises MirrorError if the storage fails."""
    path = settings.mirror.path
    cuts = read_cuts(storage_of(path), path)
    if as_json:
        print(json.dumps({"cuts": [_fields(cut) for cut in cuts]}), file=out)
        return
    console = Console(file=out)
    if not console.is_terminal:
        console = Console(file=out, width=_WIDTH)
    if not cuts:
        console.print("there is no cut yet")
        return
    table = Table(box=None, pad_edge=False)
    for title in _TITLES:
        table.add_column(title, overflow="fold")
    for cut in cuts:
        place = cut.gtid if cut.gtid is not None else cut.position
        if len(place) > _GTID_CHARACTERS:
            place = f"…{place[-_GTID_CHARACTERS:]}"
        table.add_row(
            str(cut.number),
            _time(cut.source_time_ms) or "",
            Text(visible(place)),
            Text(visible(cut.seq)),
            f"{len(cut.tables):,}",
            Text(visible(", ".join(cut.left_out))),
        )
    console.print(table)


def _fields(cut: Cut) -> dict[str, object]:
    tables = {name: own._asdict() for name, own in cut.tables.items()}
    times = {"source_time": _time(cut.source_time_ms), "written": _time(cut.written_ms)}
    return asdict(cut) | times | {"tables": tables}


def _time(ms: int | None) -> str | None:
    if ms is None:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
