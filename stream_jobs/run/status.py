"""`binlog-connector-mirror status`: the job, and the list of its tables.

For people, the list begins with what is wrong, and then has what is hot.

Of thousands of tables, a list shows the ones that need somebody, those whose records wait longest,
and those that have changed last; and it counts the others.
"""

import json
import time
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from connector.foundation.errors.message import visible
from connector.foundation.formatting import amount
from connector.foundation.table_view import ALL_TABLES, TableView
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import exit_codes
from stream_jobs.pipeline_folder import folder_of, newest_owner
from stream_jobs.run import overview
from stream_jobs.run.job_state import JobStatus, RunRecord, job_status
from stream_jobs.settings import Settings
from stream_jobs.source.client import KafkaClient

# The width of the output if it is not a terminal.
_WIDTH: Final = 200
# Somebody waits for the answer.
_ANSWER_SECONDS: Final = 8.0
_TITLES: Final = ("table", "state", "mode", "version", "rows", "dead", "files", "bytes", "waiting")
_TIMES: Final = ("waits since", "committed", "changed at the source")
_FIRST_NUMBER: Final = 3
_KILO: Final = 1024
# In this order.
_STATES: Final = (
    overview.SET_ASIDE, overview.RESUMING, overview.UNREADABLE, overview.LOADING, overview.WAITING,
    overview.CURRENT, overview.NO_MIRROR, overview.NO_KEY, overview.SKIPPED,
)  # fmt: skip


def console_on(out: TextIO) -> Console:
    """Return a console that is wide enough for tables."""
    console = Console(file=out)
    return console if console.is_terminal else Console(file=out, width=_WIDTH)


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
    console = console_on(out)
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
        return exit_codes.SET_ASIDE
    if job is not None and job.is_missing:
        return exit_codes.NO_JOB
    now = time.time()
    may_run = job is None or job.may_run
    is_late = may_run and any(status.is_late(now) for status in statuses)
    return exit_codes.LATE if is_late else exit_codes.OK


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
    text = Text(f"{amount(count, 'table')}: {states}", "dim")
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
