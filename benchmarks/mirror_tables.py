"""The mirror of many small tables: its start, what it costs while it idles, and how late it is.

*Start.* Rows of all tables have changed while the job was away. From the start of its process to
its first batch.
*Idle.* Nothing is written: CPU time of the job, of the connector and of the broker, and the log.
*Load.* One-row transactions at an even rate, spread over all tables. The delay begins just before a
statement is sent to MySQL, and ends when the Delta log of the table has the commit with the row.
A change that another one of its row has followed in the same batch has no delay.

All run on the same machine, with their default settings.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from benchmarks.many_tables import (
    DATABASE,
    MAX_OFFSETS,
    ROWS,
    Load,
    change_once,
    change_small_tables,
    mirrored_tables,
    table_name,
)
from benchmarks.mirror_commits import committed_rows, versions
from benchmarks.process import RunFailed, beside, say, usage_of
from stream_jobs.delta.storages import LocalStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Literal

    from benchmarks.home import Home
    from benchmarks.many_tables import MirroredTables
    from benchmarks.mirror_jobs import RunningJob

CHANGES_PER_S: Final = 450
# Between two states, until the job is at its pace.
_SETTLE_S: Final = 15.0
# While the job is away.
_AWAY_S: Final = 3.0
_WAIT_S: Final = 600.0
_LOOK_S: Final = 0.05
_US: Final = 1e6
_MINUTE_S: Final = 60.0


def measure_mirror_tables(
    home: Home, counts: Sequence[int], seconds: float, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures by the number of tables; each state is held for `seconds`.

    Raises RunFailed if a table has no mirror, or if the job fails.
    """
    os.environ["CONNECTOR_COMPILED"] = compiled
    found: dict[str, Any] = {"rows": ROWS, "changes_per_s": CHANGES_PER_S}
    for count in counts:
        with mirrored_tables(home, count, compiled) as tables:
            found[str(count)] = _Measurement(tables, count, seconds).run()
        say(f"mirror of {count} tables: {json.dumps(found[str(count)], indent=1)}")
    return found | {"compiled": compiled == "require"}


class _Line(NamedTuple):
    at: float
    length: int
    batch: dict[str, Any] | None  # the facts of a batch with records


class _Measurement:
    """One run of the job."""

    def __init__(self, tables: MirroredTables, count: int, seconds: float) -> None:
        self._tables = tables
        self._count = count
        self._seconds = seconds
        self._storage = LocalStorage(str(tables.job.mirror / DATABASE))
        self._lines: list[_Line] = []

    def run(self) -> dict[str, Any]:
        """Return the figures of all states."""
        with beside(self._load):
            time.sleep(_AWAY_S)
        # The connector has written them all when the job starts.
        time.sleep(_AWAY_S)
        with self._running() as running:
            found: dict[str, Any] = {"start": self._started(running)}
            say(f"mirror of {self._count} tables, start: {found['start']}")
            time.sleep(_SETTLE_S)
            found["idle"] = self._held(running, lambda: time.sleep(self._seconds))
            say(f"mirror of {self._count} tables, idle: {found['idle']}")
            found["load"] = self._loaded(running)
            found["rss_mb"] = round(running.costs.peak_mb)
            # Processes share what the first one of them has loaded.
            found["pss_mb"] = running.costs.memory_mb()["pss_mb"]
        found["connector_rss_mb"] = round(usage_of(self._tables.connector.pid).rss_mb)
        found["longest_line_bytes"] = max(line.length for line in self._lines)
        return found

    def _await(self, changed_at: int, known: Mapping[str, int]) -> None:
        """Wait until the mirror has a change, and all before it; raises RunFailed if it is late."""
        deadline, name = time.monotonic() + _WAIT_S, table_name(0)
        while not any(
            (rows.values >= changed_at).any()
            for rows in committed_rows(self._storage, name, "customer", known[name])
        ):
            if time.monotonic() > deadline:
                reason = f"the mirror does not have a change after {_WAIT_S:g} s"
                raise RunFailed(reason)
            time.sleep(1)
        # Other tables of the same batch may be committed after this one.
        time.sleep(_SETTLE_S)

    @property
    def _load(self) -> Callable[[threading.Event], None]:
        load = Load(CHANGES_PER_S, self._count)
        return partial(change_small_tables, self._tables.stack, self._count, load)

    @contextmanager
    def _running(self) -> Iterator[RunningJob]:
        with self._tables.job.start(MAX_OFFSETS, "processingTime") as running:
            reader = threading.Thread(target=self._read, args=(running,), daemon=True)
            reader.start()
            try:
                yield running
            finally:
                running.process.terminate()
                reader.join()
            running.check_end()

    def _read(self, running: RunningJob) -> None:
        for facts in running.lines():
            is_batch = facts["event"] == "batch_applied" and facts["records"]
            length = len(json.dumps(facts, separators=(",", ":")))
            self._lines.append(_Line(time.time(), length, facts if is_batch else None))

    def _started(self, running: RunningJob) -> dict[str, Any]:
        deadline = time.monotonic() + _WAIT_S
        while not (batches := [line for line in self._lines if line.batch is not None]):
            if running.process.poll() is not None or time.monotonic() > deadline:
                reason = "the job has applied no batch"
                raise RunFailed(reason)
            time.sleep(_LOOK_S)
        return {
            "first_batch_s": round(batches[0].at - running.started_at, 1),
            "cpu_s": round(running.costs.look(), 1),
        }

    def _held(self, running: RunningJob, hold: Callable[[], None]) -> dict[str, Any]:
        """Return what a state costs while `hold` runs, in % of a core."""
        stack = self._tables.stack
        pids = {"connector": self._tables.connector.pid, "broker": stack.kafka.pid}
        begun, known = time.monotonic(), len(self._lines)
        before = {name: usage_of(pid).cpu_s for name, pid in pids.items()}
        own = running.costs.look()
        hold()
        own = running.costs.look() - own
        seconds = time.monotonic() - begun
        lines = self._lines[known:]
        costs = {name: usage_of(pid).cpu_s - before[name] for name, pid in pids.items()}
        return {
            "cpu_percent": round(own / seconds * 100, 2),
            **{f"{name}_cpu_percent": round(s / seconds * 100, 2) for name, s in costs.items()},
            "log_bytes_per_minute": round(sum(line.length for line in lines) * _MINUTE_S / seconds),
        }

    def _loaded(self, running: RunningJob) -> dict[str, Any]:
        known, cpu_s = versions(self._storage), running.costs.look()
        first = time.time() * _US
        with beside(self._load):
            time.sleep(_SETTLE_S)
            begun = time.time() * _US
            found = self._held(running, lambda: time.sleep(self._seconds))
            ended = time.time() * _US
        # On a busy machine, batches end after the load: all of them and their rows count.
        self._await(change_once(self._tables.stack), known)
        cpu_s = running.costs.look() - cpu_s
        delays, count, commits = [], 0, 0
        for number in range(self._count):
            name = table_name(number)
            for rows in committed_rows(self._storage, name, "customer", known[name]):
                own = rows.values[(rows.values >= begun) & (rows.values < ended)]
                count += int((rows.values >= first).sum())
                commits += 1
                delays.append(rows.seen_at - own / _US)
        p50, p95, p99 = np.percentile(np.concatenate(delays), [50, 95, 99]).tolist()
        every = [line.batch for line in self._lines if line.at * _US >= begun]
        batches = [batch for batch in every if batch is not None]
        phases = [batch["phases"] for batch in batches]
        return found | {
            "rows": count,
            "commits": commits,
            "p50_s": round(p50, 2),
            "p95_s": round(p95, 2),
            "p99_s": round(p99, 2),
            "cpu_ms_per_row": round(cpu_s * 1000 / count, 2),
            "cpu_ms_per_commit": round(cpu_s * 1000 / commits, 2),
            "batches": len(batches),
            "batch_s": round(float(np.median([batch["seconds"] for batch in batches])), 2),
            **{
                f"{name}_s": round(float(np.median([each[name] for each in phases])), 2)
                for name in phases[0]
            },
        }
