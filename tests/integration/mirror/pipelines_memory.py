"""How much memory one Spark job with several pipelines takes, while nothing is new.

    python -m tests.integration.mirror.pipelines_memory 1 5 10

For each number, it starts a process with so many pipelines, waits until each has applied its first
batch, reads the proportional set sizes (PSS) of all processes of the job, and stops it by SIGTERM.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from local_stack.kafka import KafkaBroker
from tests.stream_jobs.command import Command, spark_settings
from tests.stream_jobs.topics import Kafka, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMNS: Final = (column("id", "int", key=1), column("name", "varchar", length=80))
_QUIET_SECONDS: Final = 20.0
_KB_PER_MB: Final = 1024


def main() -> None:
    """Measure each number of pipelines that the arguments name, and print a line for each."""
    print("pipelines  processes   JVM MB  driver MB  others MB  total MB")
    with TemporaryDirectory() as folder, KafkaBroker(Path(folder, "kafka")) as broker:
        for count in map(int, sys.argv[1:]):
            run = Path(folder, f"run-{count}")
            run.mkdir()
            megabytes, processes = _measured(run, broker.endpoint.bootstrap, count)
            total = sum(megabytes.values())
            print(
                f"{count:>9}  {processes:>9}  {megabytes['java']:>7.0f}  "
                f"{megabytes['driver']:>9.0f}  {megabytes['other']:>9.0f}  {total:>8.0f}",
                flush=True,
            )


def _measured(folder: Path, bootstrap: str, count: int) -> tuple[Counter[str], int]:
    """Return megabytes by kind of process, and how many processes there are."""
    names = [f"p{number}of{count}" for number in range(count)]
    topics = [_topics(bootstrap, name) for name in names]
    files = folder / "files"
    files.mkdir()
    for name in names:
        (files / f"{name}.toml").write_text(_configuration(folder, bootstrap, name))
    with Command(files) as job:
        waiting = set(names)
        assert job.process.stdout is not None
        while waiting:
            line = json.loads(job.process.stdout.readline() or '{"message": "ended"}')
            assert line["message"] not in ("failed", "ended"), (line, job.errors())
            if line["message"] == "batch_applied":
                waiting.discard(line["labels.pipeline"])
        time.sleep(_QUIET_SECONDS)
        found = list(_processes(job.process.pid))
        job.stop()
        assert job.end() == 0, job.errors()
    for each in topics:
        each.close()
    megabytes: Counter[str] = Counter()
    for kind, kilobytes in found:
        megabytes[kind] += round(kilobytes / _KB_PER_MB)
    return megabytes, len(found)


def _topics(bootstrap: str, name: str) -> Kafka:
    """Publish a table with a row."""
    topics = Kafka(bootstrap, name)
    SourceTable(topics, "items", _COLUMNS).create().insert({"id": 1, "name": name})
    topics.settle()
    return topics


def _configuration(folder: Path, bootstrap: str, name: str) -> str:
    settings = "\n".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in spark_settings().items())
    return f"""
name = "{name}"
[log]
format = "json"
[kafka]
bootstrap_servers = ["{bootstrap}"]
topic_prefix = "{name}"
[mirror]
path = "{folder}/mirrors/{name}"
checkpoint = "{folder}/checkpoints/{name}"
[spark.settings]
{settings}
"""


def _processes(leader: int) -> Iterator[tuple[str, int]]:
    """Yield the kind and the kilobytes of each process of the session that `leader` began."""
    for entry in Path("/proc").iterdir():
        try:
            pid = int(entry.name)
            if os.getsid(pid) != leader:
                continue
            pss = re.search(r"^Pss:\s+(\d+)", (entry / "smaps_rollup").read_text(), re.MULTILINE)
            name = (entry / "comm").read_text().strip()
        except (ValueError, OSError):
            continue
        assert pss is not None
        yield "driver" if pid == leader else "java" if name == "java" else "other", int(pss[1])


if __name__ == "__main__":
    main()
