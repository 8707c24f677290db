"""The first copy of many small tables: tables a second, and what the daemon costs afterwards.

A connector starts without progress, and copies N tables of 50 rows; the states in
`<prefix>.snapshot` say when each table was complete. Then it is started again, and the time until
it streams is taken. The source stays in the cache, the broker is empty at the beginning.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from kafka import KafkaConsumer, TopicPartition

from benchmarks.connectors import OurConnector
from benchmarks.many_tables import (
    DATABASE,
    ONE_PARTITION,
    ROWS,
    fill_small_tables,
    servers_of_many,
)
from benchmarks.process import RunFailed, run_to_end, say, usage_of
from connector.stream.snapshot.table_state import TableState, snapshot_topic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home

_LIMIT_S: Final = 3600.0
_LOOK_S: Final = 0.1
_STREAMING: Final = b"streaming"
_PARTS: Final = 4
_MS: Final = 1000


def measure_many_copies(
    home: Home, counts: Sequence[int], compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures by the number of tables; raises RunFailed if a copy fails."""
    found = {str(count): _measure(home, count, compiled) for count in counts}
    return {"rows": ROWS, "compiled": compiled == "require", **found}


def _measure(home: Home, count: int, compiled: Literal["require", "off"]) -> dict[str, Any]:
    folder = home.folder("copy-many") / str(count)
    made = folder / "made"
    if not made.exists():
        shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(folder / "broker", ignore_errors=True)
    with servers_of_many(home, folder) as stack:
        if not made.exists():
            fill_small_tables(stack, count)
            made.touch()
        prefix = f"copies{count}"
        connector = OurConnector(stack, prefix, DATABASE, compiled, ONE_PARTITION)
        connector.log.unlink(missing_ok=True)
        try:
            found = {"copy": _copied(connector, stack.bootstrap, count)}
            connector.stop()
            found["again"] = _started_again(connector)
        finally:
            connector.stop()
        found["check"] = _checked(connector.folder / f"{prefix}.toml")
    say(f"copy of {count} tables: {found}")
    return found


def _copied(connector: OurConnector, bootstrap: str, count: int) -> dict[str, Any]:
    """Return the figures of the first copy; the rate of each quarter of the tables."""
    started_ms = time.time() * _MS
    connector.copy(f"{DATABASE}.*")
    times_ms = sorted(_completion_times(connector, bootstrap, count))
    usage = usage_of(connector.pid)
    bounds = [started_ms, *(times_ms[count * part // _PARTS - 1] for part in range(1, _PARTS + 1))]
    seconds = [max(1, later - earlier) / _MS for earlier, later in pairwise(bounds)]
    return {
        "tables_per_s": round(count / sum(seconds), 1),
        "by_quarter": [round(count / _PARTS / each, 1) for each in seconds],
        "cpu_ms_per_table": round(usage.cpu_s / count * _MS, 2),
        "peak_mb": round(usage.peak_mb),
    }


def _completion_times(connector: OurConnector, bootstrap: str, count: int) -> list[int]:
    """Wait until each table is complete; return the time of each, in ms."""
    topic = snapshot_topic(connector.prefix)
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", group_id=None,
        enable_auto_commit=False, auto_offset_reset="earliest",
    )  # fmt: skip
    deadline = time.monotonic() + _LIMIT_S
    # A consumer that asks for a topic by its name creates it, with defaults that are not ours.
    while topic not in consumer.topics() and time.monotonic() < deadline:
        connector.check()
        time.sleep(_LOOK_S)
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    times: dict[str, int] = {}
    while len(times) < count:
        connector.check()
        if time.monotonic() > deadline:
            reason = f"{len(times)} of {count} tables are copied after {_LIMIT_S:g} s"
            raise RunFailed(reason)
        for record in consumer.poll(timeout_ms=1000).get(partition, ()):
            state = TableState.decode(record.value, topic)
            if state.phase == "failed":
                reason = f"the copy of {state.name} failed: {state.error}"
                raise RunFailed(reason)
            if state.phase == "complete":
                times[state.name] = record.timestamp
    consumer.close()
    return list(times.values())


def _started_again(connector: OurConnector) -> dict[str, Any]:
    """Return the seconds from the start of the process to its stream, and its memory."""
    before = connector.log.stat().st_size
    started = time.monotonic()
    connector.copy(f"{DATABASE}.*")
    while _STREAMING not in _tail(connector.log, before):
        connector.check()
        time.sleep(0.02)
    seconds = time.monotonic() - started
    # What it holds when it has settled.
    time.sleep(5)
    usage = usage_of(connector.pid)
    return {
        "seconds_to_stream": round(seconds, 2),
        "rss_mb": round(usage.rss_mb),
        "peak_mb": round(usage.peak_mb),
    }


def _tail(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read()


def _checked(config: Path) -> dict[str, Any]:
    """Return what `check` takes; it may warn."""
    config.chmod(0o600)
    command = [sys.executable, "-m", "connector", "check", str(config)]
    started = time.monotonic()
    try:
        run = run_to_end(command, on_one_core=False, discard_output=True)
    except RunFailed:
        subprocess.run(command, check=False)
        return {"failed_after_s": round(time.monotonic() - started, 2)}
    return {"wall_s": round(run.wall_s, 2), "cpu_s": round(run.cpu_s, 2)}
