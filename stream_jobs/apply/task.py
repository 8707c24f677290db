"""The function that Spark runs for each task: it reads the records of its tables and applies them.

A Python worker runs one task after another, and keeps its connection to Kafka for the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import MirrorError
from stream_jobs.apply.facts import PartResult
from stream_jobs.apply.part import apply_part
from stream_jobs.apply.rewrite import compacted_file, rewritten_file
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.ranges import read_ranges

if TYPE_CHECKING:
    from connector.records.record_reader import RecordColumns
    from stream_jobs.apply.facts import Task
    from stream_jobs.source.facts import KafkaFacts
    from stream_jobs.source.ranges import OffsetRange

_clients: dict[KafkaFacts, KafkaClient] = {}


def run_task(task: Task) -> list[PartResult]:
    """Do the work of `task`. Errors are results: those of one table do not stop others."""
    return [
        *(_applied(task) if task.parts else ()),
        *(rewritten_file(task, each) for each in task.rewritten),
        *(compacted_file(task, each) for each in task.compacted),
    ]


def _applied(task: Task) -> list[PartResult]:
    parts = {part.topic: part for part in task.parts}
    missing = {part.topic: len(part.ranges) for part in task.parts}
    pieces: dict[str, list[tuple[OffsetRange, RecordColumns]]] = {topic: [] for topic in parts}
    results: dict[str, PartResult] = {}
    ranges = [each for part in task.parts for each in part.ranges]
    try:
        for each, columns in read_ranges(_client(task.kafka), ranges, task.bytes_max):
            pieces[each.topic].append((each, columns))
            missing[each.topic] -= 1
            if not missing[each.topic]:
                results[each.topic] = apply_part(task, parts[each.topic], pieces.pop(each.topic))
    except MirrorError as error:
        # The connection may be in any state.
        _forget(task.kafka)
        for topic in pieces:
            results[topic] = PartResult(topic, error=error)
    return list(results.values())


def _client(facts: KafkaFacts) -> KafkaClient:
    if facts not in _clients:
        _clients[facts] = KafkaClient(facts)
    return _clients[facts]


def _forget(facts: KafkaFacts) -> None:
    client = _clients.pop(facts, None)
    if client is not None:
        client.close()
