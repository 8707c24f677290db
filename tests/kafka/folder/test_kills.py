"""A process that writes the log of a folder is killed: each transaction is kept as a whole."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from connector.kafka.folder.folder_log import FolderLog
from tests.kafka.folder.record_batches import batch, committed
from tests.length import length

TOPICS = ("orders", "items", "progress")
KILLS = length(short=3, full=100)
MIB = 1 << 20


def write_for_ever(folder: Path) -> None:
    """Write numbered transactions over all topics; print each number once it is committed."""
    log = FolderLog(folder, segment_bytes=50_000)
    for topic in TOPICS:
        if topic not in log.topics():
            log.create_topic(topic, 1, {})
    producer = log.init_producer("one", 60_000, None)
    number = time.monotonic_ns()
    sequences = dict.fromkeys(TOPICS, 0)
    while True:
        for topic in TOPICS:
            log.add_to_transaction("one", *producer, [(topic, 0)])
            for part in range(3):
                value = b"%d/%d" % (number, part)
                data = batch([value], producer, sequences[topic], transactional=True)
                log.append((topic, 0), data, "one")
                sequences[topic] += 1
        log.end_transaction("one", *producer, commit=True)
        print(number, flush=True)
        number += 1


def test_what_was_committed_survives_each_kill_and_nothing_is_half(tmp_path: Path) -> None:
    choose = random.Random(1)
    acknowledged = []
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(tmp_path / "log")],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            acknowledged.append(int(process.stdout.readline()))
            time.sleep(choose.random() * 0.2)
            process.kill()
            acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
    log = FolderLog(tmp_path / "log")
    parts: dict[int, int] = defaultdict(int)
    for topic in TOPICS:
        for value in committed(log.fetch((topic, 0), 0, 100 * MIB, committed=True)):
            parts[int(value.split(b"/")[0])] += 1
    log.close()
    assert set(acknowledged) <= parts.keys()
    # Of each process, the last one may be committed without an answer.
    assert len(parts) - len(acknowledged) <= KILLS
    assert set(parts.values()) == {3 * len(TOPICS)}


_PROGRAM = """
import sys
from pathlib import Path
from tests.kafka.folder.test_kills import write_for_ever
write_for_ever(Path(sys.argv[1]))
"""
