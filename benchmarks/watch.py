"""A connector at work, watched from outside: what has become visible, and what it has cost."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kafka import KafkaConsumer, TopicPartition

from benchmarks.process import RunFailed, Usage, run_to_end, usage_of
from connector.kafka.kafka_python import network_client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.connectors import Connector

PROBES = Path(__file__).with_name("probes")
_LOOK_SECONDS = 0.05
# Behind the last record come the marks of transactions; then the counts stand still.
_STILL_SECONDS = 1.0
_CHECK_SECONDS = 2.0


class Topics:
    """How many offsets of some topics a read_committed consumer could read."""

    def __init__(self, bootstrap: str, names: Sequence[str]) -> None:
        """Ask the broker at `bootstrap`; the topics need not be there yet."""
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            isolation_level="read_committed",
            enable_auto_commit=False,
            group_id=None,
            metadata_max_age_ms=500,
            kafka_client=network_client,  # it knows logs in folders, too
        )
        self._names = names
        self._known: dict[str, list[TopicPartition]] = {}

    def count(self) -> int:
        """Return the sum of the offsets; marks of transactions count, too."""
        for name in self._names:
            if name not in self._known:
                partitions = self._consumer.partitions_for_topic(name)
                if partitions:
                    self._known[name] = [TopicPartition(name, each) for each in partitions]
        known = [partition for each in self._known.values() for partition in each]
        return sum(self._consumer.end_offsets(known).values()) if known else 0

    def close(self) -> None:
        """Let go of the broker."""
        self._consumer.close()


@dataclass(frozen=True, slots=True)
class Sample:
    """One look."""

    at: float  # seconds of the monotonic clock
    count: int
    usage: Usage


def watch(connector: Connector, topics: Topics, expected: int, limit_s: float) -> list[Sample]:
    """Look until `expected` records are visible and nothing is added any more.

    Raises RunFailed when the connector fails or takes longer than `limit_s`.
    """
    samples: list[Sample] = []
    begun = checked = time.monotonic()
    while True:
        usage = usage_of(connector.pid)
        sample = Sample(time.monotonic(), topics.count(), usage)
        samples.append(sample)
        if sample.count >= expected:
            final = next(each for each in samples if each.count == sample.count)
            if sample.at - final.at > _STILL_SECONDS:
                return [each for each in samples if each.at <= final.at]
        if sample.at - checked > _CHECK_SECONDS:
            connector.check()
            checked = sample.at
        if sample.at - begun > limit_s:
            reason = f"{connector.name}: {sample.count} of {expected} records in {limit_s:g} s"
            raise RunFailed(reason)
        time.sleep(_LOOK_SECONDS)


@dataclass(frozen=True, slots=True)
class Phase:
    """Records from one count to another."""

    messages: int
    wall_s: float
    cpu_s: float

    @classmethod
    def of(cls, samples: Sequence[Sample], low: int, high: int) -> Phase:
        """Cut a phase out of the samples: from the last look at `low` to the first at `high`."""
        first = max((each for each in samples if each.count <= low), key=lambda each: each.at)
        last = next((each for each in samples if each.count >= high), samples[-1])
        cpu = last.usage.cpu_s - first.usage.cpu_s
        return cls(last.count - first.count, last.at - first.at, cpu)

    def document(self) -> dict[str, float]:
        """Return the figures of the report."""
        return {
            "messages_per_s": self.messages / self.wall_s,
            "cpu_us_per_message": self.cpu_s / self.messages * 1e6,
        }


def count_records(python: Path, bootstrap: str, topics: Sequence[str]) -> dict[str, int]:
    """Read the topics and return the records by operation; `python` is that of the rivals."""
    run = run_to_end([str(python), str(PROBES / "count_records.py"), bootstrap, *topics])
    found: dict[str, int] = json.loads(run.lines[-1])
    return found


class LatencyProbe:
    """A consumer in a process of its own; see `probes/watch_latency.py`."""

    def __init__(self, python: Path, bootstrap: str, topic: str) -> None:
        """Watch `topic`, which need not be there yet."""
        self._process = subprocess.Popen(
            [str(python), str(PROBES / "watch_latency.py"), bootstrap, topic],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def expect_first(self) -> None:
        """Note when the next message comes."""
        self._tell("first")

    def first(self) -> float:
        """Wait for that message and return when it came, in seconds of the wall clock."""
        return float(self._answer()["at"])

    def reset(self) -> None:
        """Forget what was seen."""
        self._tell("reset")

    def report(self) -> dict[str, Any]:
        """Return what was seen."""
        self._tell("report")
        return self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            reason = "the consumer that measures latency has ended"
            raise RunFailed(reason)
        answer: dict[str, Any] = json.loads(line)
        return answer
