"""What the tests of the sink write, a whole commit of it, and what a consumer then sees."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from connector.stream.progress.progress_record import Progress
from tests.integration.harness import read_committed, wait_until_settled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.stream.sink.kafka_sink import KafkaSink
    from local_stack import KafkaBroker

# Kafka deletes rows that are older than kafka.retention_hours, also in the middle of a test.
NOW_MS = time.time_ns() // 1_000_000


def progress(instance: str, position: int = 4) -> Progress:
    return Progress(
        flavour="mysql",
        gtid_set="",
        file="binlog.000001",
        position=position,
        epoch=1,
        seq="",
        server_uuid="u",
        instance=instance,
        host="there",
        pid=77,
        committed_at_ms=1,
    )


PROGRESS = progress("a")


def publish(sink: KafkaSink, prefix: str, numbers: Iterable[int], size: int = 100) -> None:
    """Give rows with these keys to a sink, of about `size` bytes each."""
    for number in numbers:
        sink.target.take(
            f"{prefix}.db.t",
            b'{"id":%d}' % number,
            b'"' + b"x" * size + b'"',
            b"\x02\x0ecdc.seq\x4c%038d" % number,
            NOW_MS + number,
        )


def commit(sink: KafkaSink, progress: Progress) -> None:
    """Commit what the sink has, and wait for the end, as a stream that waits for each would."""
    sink.start_commit(progress)
    sink.settle()


def delivered(broker: KafkaBroker, prefix: str) -> list[int]:
    """Return the keys that were committed, once no transaction is open."""
    wait_until_settled(broker.endpoint, prefix)
    return keys(broker, prefix)


def keys(broker: KafkaBroker, prefix: str) -> list[int]:
    """Return the keys that are committed."""
    return sorted(one.key["id"] for one in read_committed(broker.endpoint, prefix))
