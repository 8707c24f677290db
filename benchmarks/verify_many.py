"""`verify` of many small tables: tables a second, with and without changes.

It runs once while nothing changes, and once while connector and job carry 200 changes a second, of
rows of 20 tables: on two cores, the job cannot follow when each batch has changes of thousands of
tables.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections import Counter, deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from benchmarks.many_tables import (
    DATABASE,
    MAX_OFFSETS,
    PREFIX,
    ROWS,
    Load,
    change_small_tables,
    mirrored_tables,
    table_name,
)
from benchmarks.process import RunFailed, beside, run_to_end, say, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home
    from benchmarks.many_tables import MirroredTables
    from benchmarks.mirror_jobs import MirrorJob

DEFAULT_LOAD: Final = Load(changes_per_s=200, tables=20)
# After the first changes, connector and job are at their pace when the mirror has so many commits.
_SETTLED: Final = 5
_WAIT_S: Final = 1800.0


def measure_many(
    home: Home, counts: Sequence[int], load: Load, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures by the number of tables; raises RunFailed if one is not equal."""
    os.environ["CONNECTOR_COMPILED"] = compiled
    found = {str(count): _verified_twice(home, count, load, compiled) for count in counts}
    return {
        "rows": ROWS,
        "changes_per_s": load.changes_per_s,
        "changed": load.tables,
        "compiled": compiled == "require",
        **found,
    }


def _verified_twice(
    home: Home, count: int, load: Load, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures of both comparisons."""
    with mirrored_tables(home, count, compiled) as tables:
        found = {"quiet": _verified(tables, count)}
        work = partial(change_small_tables, tables.stack, count, load)
        with _running(tables.job), beside(work):
            _settle(tables.job)
            found["under_load"] = _verified(tables, count)
    return found


def _settle(job: MirrorJob) -> None:
    """Wait until the mirror of the first table follows its changes; raises RunFailed.

    The first batch of a job takes minutes where there are thousands of tables.
    """
    log = job.mirror / DATABASE / table_name(0) / "_delta_log"
    begun = len([*log.glob("*.json")])
    deadline = time.monotonic() + _WAIT_S
    while len([*log.glob("*.json")]) < begun + _SETTLED:
        if time.monotonic() > deadline:
            reason = f"{log} has no changes after {_WAIT_S:g} s"
            raise RunFailed(reason)
        time.sleep(1)


@contextmanager
def _running(job: MirrorJob) -> Iterator[None]:
    with job.start(MAX_OFFSETS, "processingTime") as running:
        reading = threading.Thread(target=lambda: deque(running.lines(), 0))
        reading.start()
        try:
            yield
        finally:
            running.process.terminate()
            reading.join()


def _verified(tables: MirroredTables, count: int) -> dict[str, Any]:
    config = tables.connector.folder / f"{PREFIX}.toml"
    job_file = _job_file(tables)
    config.chmod(0o600)
    command = [sys.executable, "-m", "connector", "verify", str(config)]
    command += ["--mirror", str(job_file), "--json"]
    source, path = tables.stack.mysql.pid, tables.folder / "report.json"
    before = usage_of(source).cpu_s
    try:
        run = run_to_end(command, output=path, on_one_core=False)
    finally:
        report = json.loads(path.read_text() or '{"tables": []}')
        verdicts = Counter(table["verdict"] for table in report["tables"])
        say(f"verify: {dict(verdicts)}")
    if verdicts != {"equal": count}:
        reason = f"verify found {dict(verdicts)}"
        raise RunFailed(reason)
    found = {
        "tables_per_s": round(count / run.wall_s, 1),
        "wall_s": round(run.wall_s, 2),
        "cpu_s": round(run.cpu_s, 2),
        "source_cpu_s": round(usage_of(source).cpu_s - before, 2),
        "peak_mb": round(run.peak_mb),
    }
    say(f"verify {count} tables: {found}")
    return found


def _job_file(tables: MirroredTables) -> Path:
    path = tables.folder / "job.toml"
    shutil.copy(tables.job.mirror.parent / "config", path)
    path.chmod(0o600)
    return path
