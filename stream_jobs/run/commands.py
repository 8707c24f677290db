"""`binlog-connector-mirror status`, `cuts` and `drop-shards`: what they show of a mirror."""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from connector.foundation.errors.message import visible
from connector.foundation.table_view import ALL_TABLES, TableView
from stream_jobs.cuts import Cut, read_cuts
from stream_jobs.delta.storages import storage_of
from stream_jobs.iceberg.record import PublicationRecord
from stream_jobs.pipeline_folder import folder_of, newest_owner
from stream_jobs.run import overview
from stream_jobs.run.job_state import JobStatus, RunRecord, job_status
from stream_jobs.run.shard_removal import ShardRemoval, TableShards
from stream_jobs.run.table_list import print_tables
from stream_jobs.settings import Settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.table_options import TableOptionsResolver

EXIT_FINE = 0
EXIT_LATE = 1
EXIT_SET_ASIDE = 3
EXIT_NO_JOB = 4

# The width of the output if it is not a terminal.
_WIDTH = 200
# Somebody waits for the answer.
_ANSWER_SECONDS = 8.0


def show_status(
    settings: Settings,
    config: Path,
    out: TextIO,
    *,
    as_json: bool,
    view: TableView = ALL_TABLES,
) -> int:
    """Print the job and the tables of `view` to `out`, and return the exit code.

    The job is known from the storage alone, and printed first. Only for people, the number of
    tables has a limit. Raises MirrorError if Kafka or the storage do not answer.
    """
    folder = folder_of(settings)
    newest = newest_owner(*folder)
    run = RunRecord(*folder, settings.trigger.kind).newest()
    job = None if newest is None else job_status(newest, run)
    console = _console(out)
    if job is not None and not as_json:
        for text in _job_lines(job):
            console.print(text, soft_wrap=True)
    facts = settings.kafka.facts()
    patience = min(facts.timeout_seconds, _ANSWER_SECONDS)
    client = KafkaClient(facts._replace(timeout_seconds=patience))
    try:
        storage = storage_of(settings.mirror.path)
        statuses = overview.Overview(settings, storage, client).tables(view.pattern)
    finally:
        client.close()
    if as_json:
        described = None if newest is None or job is None else asdict(newest) | asdict(job)
        print(json.dumps({"job": described, "tables": [asdict(one) for one in statuses]}), file=out)
    else:
        print_tables(statuses, config, console, view)
    return _exit_code(statuses, job)


def _exit_code(statuses: list[overview.TableStatus], job: JobStatus | None) -> int:
    """Return the code of what needs somebody most."""
    if not all(status.is_fine for status in statuses):
        return EXIT_SET_ASIDE
    if job is not None and job.is_missing:
        return EXIT_NO_JOB
    now = time.time()
    may_run = job is None or job.may_run
    return EXIT_LATE if may_run and any(status.is_late(now) for status in statuses) else EXIT_FINE


def _console(out: TextIO) -> Console:
    console = Console(file=out)
    return console if console.is_terminal else Console(file=out, width=_WIDTH)


def _job_lines(job: JobStatus) -> list[Text]:
    """Return what there is to say of the job."""
    process = f"process {job.pid} on {visible(job.host)}"
    said = {
        "running": f"runs as {process} since {job.since}",
        "stopped": f"was stopped at {job.ended} ({process})",
        "failed": f"failed at {job.ended} ({process}), and does not run",
        "gone": f"does not run: {process}, started {job.since}, has ended without a word",
        "elsewhere": (
            f"last started {job.since} as {process}; only that machine knows whether it runs"
        ),
    }[job.state]
    style = "bold red" if job.is_missing else ""
    lines = [Text(f"job {visible(job.name)} ").append(said, style)]
    failure = job.last_failure
    if failure is not None:
        which = "" if job.state == "failed" else f"the run before failed at {failure.at}: "
        why = visible(f"[{failure.code}] {failure.error}")
        lines.append(Text(f"{which}{why}", "" if which else "red"))
    return lines


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
    console = Console(file=out)
    if not console.is_terminal:
        console = Console(file=out, width=_WIDTH)
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
    files = f"{_counted(len(found.files), 'file')} of the job{kept}"
    out.write(f"{visible(removal.folder)}/_cdc: {verb}{files}\n")
    if not confirmed:
        out.write("nothing is removed yet: add --yes to remove it\n")


def _shards(table: TableShards) -> str:
    names = [visible(value) for value in table.rows]
    shown = ", ".join(names[:_SHARDS_SHOWN])
    more = len(names) - _SHARDS_SHOWN
    noun = "shard" if len(names) == 1 else "shards"
    rows = _counted(sum(table.rows.values()), "row")
    return f"{noun} {shown}{f' and {more:,} more' if more > 0 else ''}, {rows}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
