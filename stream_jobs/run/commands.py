"""The commands that look after a mirror, without Spark, and what they show."""

import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TextIO

from rich.table import Table
from rich.text import Text

from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.errors.message import visible
from connector.foundation.formatting import amount
from connector.foundation.table_view import TableView
from stream_jobs.cuts import Cut, read_cuts
from stream_jobs.errors import exit_codes
from stream_jobs.iceberg.record import PublicationRecord
from stream_jobs.pipeline_folder import folder_of
from stream_jobs.run.job_state import OF_OTHER_OWNERS
from stream_jobs.run.shard_removal import ShardRemoval, TableShards
from stream_jobs.run.status import console_on, show_status
from stream_jobs.settings import Settings
from stream_jobs.tables.quarantine_files import resume
from stream_jobs.tables.table_options import TableOptionsResolver


def look_after(settings: Settings, arguments: Namespace, out: TextIO) -> int:
    """Do what the command line says, and return the exit code; raises ConfigError."""
    try:
        match arguments.command:
            case "status":
                view, as_json = TableView.of(arguments), arguments.json
                return show_status(settings, arguments.config, out, as_json=as_json, view=view)
            case "cuts":
                show_cuts(settings, out, as_json=arguments.json)
            case "resume":
                _resume(settings, arguments, out)
            case "drop-shards":
                prefix, lost = arguments.prefix, arguments.lost_host
                drop_shards(settings, prefix, lost, out, confirmed=arguments.yes)
            case _:
                raise AssertionError(arguments.command)
    except ConfigError:
        raise
    except ConnectorError as error:
        sys.stderr.write(f"error: {error}\n")
        return exit_codes.REFUSED if error.code in OF_OTHER_OWNERS else exit_codes.FAILED
    return exit_codes.OK


def _resume(settings: Settings, arguments: Namespace, out: TextIO) -> None:
    asked = resume(
        settings,
        arguments.config,
        arguments.tables,
        every=arguments.all,
        skipped=arguments.skip_record,
        rebuild=arguments.rebuild,
    )
    if not asked:
        out.write("no table is set aside\n")
    for name, needs_copy in asked:
        table = visible(name)
        lines = f"{table}: the running job tries it again within one interval, else the next run\n"
        if needs_copy:
            lines += (
                f"{table}: Kafka has deleted its first records; unless the connector has copied it "
                "since, the mirror stays as it is; let it do so "
                f"(`binlog-connector snapshot CONNECTOR.toml {table}`), and then ask again\n"
            )
        out.write(lines)


_CUT_TITLES = ("cut", "committed at the source", "transactions", "cdc.seq", "tables", "left out")
_GTID_CHARACTERS = 60


def show_cuts(settings: Settings, out: TextIO, *, as_json: bool) -> None:
    """Print all cuts to `out`, the oldest first. Raises MirrorError if the storage fails."""
    storage, path = folder_of(settings)
    cuts = read_cuts(storage, path)
    is_iceberg = TableOptionsResolver.of_settings(settings).is_iceberg
    record = PublicationRecord.read(storage, path) if is_iceberg else None
    tags = {} if record is None else {number: record.tags.of(number) for number in record.cuts}
    if as_json:
        print(json.dumps({"cuts": [_fields(cut, tags) for cut in cuts]}), file=out)
        return
    console = console_on(out)
    if not cuts:
        console.print("there is no cut yet")
        return
    table = Table(box=None, pad_edge=False)
    for title in (*_CUT_TITLES, *(["Iceberg tag"] if tags else [])):
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
            *([tags.get(cut.number, "")] if tags else []),
        )
    console.print(table)


def _fields(cut: Cut, tags: Mapping[int, str]) -> dict[str, object]:
    tables = {name: own._asdict() for name, own in cut.tables.items()}
    tag = {"iceberg_tag": tags.get(cut.number)}
    times = {"source_time": _time(cut.source_time_ms), "written": _time(cut.written_ms)}
    return asdict(cut) | times | {"tables": tables} | tag


def _time(ms: int | None) -> str | None:
    if ms is None:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


# So many shards of a table are named.
_SHARDS_SHOWN = 5


def drop_shards(
    settings: Settings, prefix: str, lost_host: str | None, out: TextIO, *, confirmed: bool
) -> None:
    """Show in `out` what a shared mirror has of the pipeline with `prefix`; remove it if confirmed.

    Its job does not run on `lost_host`. Raises ConfigError and MirrorError as `ShardRemoval`.
    """
    removal = ShardRemoval(settings, prefix, lost_host)
    base, verb = settings.mirror.path.rstrip("/"), "removed " if confirmed else ""

    def tell(table: TableShards) -> None:
        out.write(f"{visible(table.name)}: {verb}{_shards(table)}\n")
        if table.is_whole:
            out.write(f"no shard is left there: {visible(f'{base}/{table.path}')} stays, empty\n")
        out.flush()

    found = removal.look()
    if found.is_empty:
        out.write(f"nothing is left of {visible(prefix)} in {visible(base)}\n")
        return
    if confirmed:
        found = removal.carry_out(tell)
    else:
        for table in found.tables:
            tell(table)
    kept = "; those that name the first pipeline stay" if removal.is_first else ""
    files = f"{amount(len(found.files), 'file')} of the job{kept}"
    out.write(f"{visible(removal.folder)}/_cdc: {verb}{files}\n")
    if not confirmed:
        out.write("nothing is removed yet: add --yes to remove it\n")


def _shards(table: TableShards) -> str:
    names = [visible(value) for value in table.rows]
    shown = ", ".join(names[:_SHARDS_SHOWN])
    more = len(names) - _SHARDS_SHOWN
    noun = "shard" if len(names) == 1 else "shards"
    rows = amount(sum(table.rows.values()), "row")
    return f"{noun} {shown}{f' and {more:,} more' if more > 0 else ''}, {rows}"
