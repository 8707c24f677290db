"""The daemon as a user runs it, and what a read_committed consumer sees of it."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import TopicAlreadyExistsError

from connector.kafka.kafka_python import network_client
from tests import forked_command

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import Endpoint
    from tests.forked_command import Command

PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.1


def toml_value(value: object) -> str:
    """Write a string, number, boolean, list or table as TOML."""
    if isinstance(value, dict):
        members = (f"{key} = {toml_value(each)}" for key, each in value.items())
        return f"{{ {', '.join(members)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value)


def write_config(
    directory: Path,
    source: Endpoint,
    broker: Endpoint,
    prefix: str,
    database: str,
    **changes: object,
) -> Path:
    """Write a configuration; `changes` are keys such as `source__password`."""
    values: dict[str, object] = {
        "name": prefix,
        "source__host": source.host,
        "source__port": source.port,
        "source__user": source.user,
        "source__password": source.password,
        "source__server_id": 5800 + os.getpid() % 50_000,
        "source__tables": [f"{database}.*"],
        "source__start": "earliest",
        "source__read_timeout_seconds": 5,
        "kafka__bootstrap_servers": [broker.bootstrap],
        "kafka__topic_prefix": prefix,
        "delivery__commit_interval_ms": 20,
        "retry__initial_seconds": 0.2,
        "retry__max_seconds": 1,
        "log__format": "json",
    } | changes
    sections: dict[str, list[str]] = {"": []}
    for key, value in values.items():
        section, _, name = key.rpartition("__")
        sections.setdefault(section, []).append(f"{name} = {toml_value(value)}")
    text = ""
    for section, lines in sections.items():
        text += (f"[{section}]\n" if section else "") + "\n".join(lines) + "\n"
    path = directory / f"{prefix}.toml"
    path.touch(mode=0o600)  # it holds a password
    path.write_text(text)
    return path


@dataclass
class ConnectorProcess:
    """`binlog-connector run CONFIG` in a process of its own."""

    config: Path
    process: Command | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """Where its standard error goes."""
        return self.config.with_suffix(".log")

    def start(self) -> Self:
        """Start it."""
        self.process = forked_command.start(
            "run", str(self.config), errors=self.log, environment=self.environment
        )
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Return the exit code, once there is one."""
        assert self.process is not None
        return self.process.wait(seconds)

    def kill(self) -> None:
        """End it as the kernel would."""
        self.signal(signal.SIGKILL)
        self.wait()

    def terminate(self) -> int:
        """Ask it to stop and return its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def output(self) -> str:
        """Return everything that it has said."""
        return self.log.read_text() if self.log.exists() else ""

    def wait_for(self, text: str, seconds: float = PATIENCE_SECONDS, times: int = 1) -> None:
        """Wait until it has said `text`, so many times."""
        assert self.process is not None
        wait_until(
            lambda: self.output().count(text) >= times or self.process.poll() is not None,
            lambda: f"{text!r} was not said {times} times in\n{self.output()}",
            seconds,
        )
        assert self.output().count(text) >= times, self.output()


def wait_until(
    condition: Any,
    otherwise: Any,
    seconds: float = PATIENCE_SECONDS,
    look_seconds: float = LOOK_SECONDS,
) -> None:
    """Wait until `condition()` holds; fail with the text `otherwise()` gives."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(look_seconds)


def run_to_end(config: Path, **environment: str) -> tuple[int, str]:
    """Run the daemon until it ends by itself; return its exit code and what it said last."""
    with ConnectorProcess(config, environment=environment) as connector:
        code = connector.wait()
        return code, connector.output().replace(str(config), "CONFIG")


def failure_of(output: str) -> str:
    """Return the error of the last line of a log for machines, which says that the run failed."""
    failed = json.loads(output.splitlines()[-1])
    assert (failed["message"], failed["log.level"]) == ("failed", "error"), output
    text: str = failed["error.message"]
    return text


@dataclass(frozen=True, slots=True)
class Seen:
    """A committed record, as a consumer sees it."""

    topic: str
    partition: int
    offset: int
    key: Any
    value: Any
    headers: dict[str, str]

    @property
    def seq(self) -> str:
        """The header cdc.seq."""
        return self.headers["cdc.seq"]

    @property
    def op(self) -> str:
        """The header cdc.op."""
        return self.headers["cdc.op"]


def topics_of(broker: Endpoint, prefix: str, *, control: bool) -> list[str]:
    """Return the row topics of a prefix, or its control topics."""
    with closing(consumer_of(broker)) as consumer:
        return _topics(consumer, prefix, control=control)


def _topics(consumer: KafkaConsumer, prefix: str, *, control: bool) -> list[str]:
    return [
        topic
        for topic in sorted(consumer.topics())
        if topic.startswith(f"{prefix}.") and (topic.count(".") == 1) is control
    ]


def consumer_of(broker: Endpoint, isolation_level: str = "read_committed") -> KafkaConsumer:
    """Return a consumer without a group."""
    return KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        isolation_level=isolation_level,
        enable_auto_commit=False,
        group_id=None,
        fetch_max_wait_ms=50,
        # It connects once, and waits for nothing before it asks.
        kafka_client=network_client,
    )


def make_topic(broker: Endpoint, topic: str) -> None:
    """Make a topic with one partition, unless it exists."""
    settings = {"bootstrap_servers": broker.bootstrap, "kafka_client": network_client}
    with closing(KafkaAdminClient(**settings)) as admin, suppress(TopicAlreadyExistsError):
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})


def partitions_of(consumer: KafkaConsumer, topic: str) -> list[TopicPartition]:
    """Return the partitions of a topic that exists; a new one is not known at once."""
    found: set[int] = set()

    def is_known() -> bool:
        found.update(consumer.partitions_for_topic(topic) or ())
        return bool(found)

    wait_until(is_known, lambda: f"the consumer does not find {topic}")
    return [TopicPartition(topic, number) for number in sorted(found)]


def wait_until_settled(broker: Endpoint, prefix: str) -> None:
    """Wait until no transaction is open: Kafka answers a commit before it marks every topic."""
    with (
        closing(consumer_of(broker)) as committed,
        closing(consumer_of(broker, "read_uncommitted")) as everything,
    ):
        topics = _topics(committed, prefix, control=False)
        partitions = [each for topic in topics for each in partitions_of(committed, topic)]
        wait_until(
            lambda: committed.end_offsets(partitions) == everything.end_offsets(partitions),
            lambda: f"a transaction stays open in the topics of {prefix}",
        )


def read_committed(
    broker: Endpoint, prefix: str, *, control: bool = False, with_ddl: bool = False
) -> list[Seen]:
    """Return every committed record of the prefix's row topics, by topic, partition and offset.

    With `control`, those of the control topics instead; with `with_ddl` also those of DDL.
    """
    with closing(consumer_of(broker)) as consumer:
        return read_with(consumer, prefix, control=control, with_ddl=with_ddl)


def read_with(
    consumer: KafkaConsumer, prefix: str, *, control: bool = False, with_ddl: bool = False
) -> list[Seen]:
    """Return what `read_committed` does, with a consumer that reads more than once."""
    topics = _topics(consumer, prefix, control=control) + [prefix] * with_ddl
    partitions = [each for topic in topics for each in partitions_of(consumer, topic)]
    return list(map(_seen, records_of(consumer, partitions)))


def records_of(consumer: KafkaConsumer, partitions: list[TopicPartition]) -> list[Any]:
    """Read all partitions at once, each to its present end; those of one follow each other."""
    if not partitions:
        return []
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ends = consumer.end_offsets(partitions)
    found: dict[TopicPartition, list[Any]] = {each: [] for each in partitions}
    while any(consumer.position(each) < ends[each] for each in partitions):
        for partition, records in consumer.poll(timeout_ms=200).items():
            found[partition] += records
    return [record for each in found.values() for record in each]


def _seen(record: Any) -> Seen:
    return Seen(
        record.topic,
        record.partition,
        record.offset,
        None if record.key is None else _json(record.key),
        None if record.value is None else json.loads(record.value),
        {name: value.decode() for name, value in record.headers},
    )


def _json(key: bytes) -> Any:
    try:
        return json.loads(key)
    except ValueError:
        return key.decode()


def changes(records: list[Seen]) -> list[Seen]:
    """Leave out tombstones, and order the rest by sequence."""
    return sorted((record for record in records if record.value is not None), key=lambda r: r.seq)
