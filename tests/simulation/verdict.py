"""What consumers see, compared with what the source did.

Three things are asked of every run: each partition holds exactly the records of the story, in its
order; each progress record was committed together with the records of just the groups before its
position; and the records are, to the byte, those of a run in which nothing went wrong.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from connector.foundation.contract import (
    FENCES_TOPIC_SUFFIX,
    HEADER_SEQ,
    control_topic,
    row_topic,
)
from connector.foundation.kafka_records import partition_of
from connector.stream.envelope.schemas.table_schema import schema_topic
from connector.stream.progress.progress_record import progress_topic
from connector.stream.sink.epoch_record import epoch_key
from tests.simulation.faults import Undisturbed
from tests.simulation.log_writer import ORIGIN, LogWriter
from tests.simulation.run import NAME, PREFIX, SETTINGS, committed_progress, simulate
from tests.simulation.server import ScriptedServer
from tests.simulation.story import DATABASE, TABLES, Published, Rotation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.foundation.kafka_records import Record
    from connector.stream.progress.progress_record import Progress
    from tests.simulation.broker import Broker, PartitionId
    from tests.simulation.log_writer import Flavour
    from tests.simulation.story import Story

_FENCES_TOPIC = control_topic(PREFIX, FENCES_TOPIC_SUFFIX)

Contents = dict["PartitionId", list["Record"]]


@dataclass(frozen=True)
class Scenario:
    """A story as one or two servers have it in their logs."""

    story: Story
    writers: tuple[LogWriter, ...]
    servers: tuple[ScriptedServer, ...]


class Source(NamedTuple):
    """A kind of server; only MySQL may lack GTIDs, and only MariaDB has an index of them."""

    flavour: Flavour
    gtid: bool = True
    gtid_index: bool = True


MYSQL: Final = Source("mysql")
SOURCES: Final = {
    "mysql": MYSQL,
    "mariadb": Source("mariadb"),
    "mariadb without an index": Source("mariadb", gtid_index=False),
    "mysql by position": Source("mysql", gtid=False),
}


def scenario(story: Story, source: Source = MYSQL, *, standby: bool = False) -> Scenario:
    """Write a story into the log of a server, and in other files and positions into a standby's."""
    flavour, gtid, gtid_index = source
    writers = [LogWriter(flavour, gtid=gtid)]
    writers[0].write(story)
    if standby:
        other = LogWriter(flavour, gtid=gtid, name="replica", number=7)
        for number, step in enumerate(story.steps):
            # Its files end elsewhere.
            if number % 3 == 1:
                other.rotate()
            if not isinstance(step, Rotation):
                other.step(step)
        writers.append(other)
    servers = [
        ScriptedServer(
            str(ORIGIN if number == 1 else UUID(int=number)),
            flavour,
            writer.files,
            writer.executed if gtid or flavour == "mariadb" else None,
            writer.end,
            gtid_index=gtid_index,
        )
        for number, writer in enumerate(writers, 1)
    ]
    return Scenario(story, tuple(writers), tuple(servers))


def contents(broker: Broker) -> Contents:
    """Return what consumers see of rows and schemas; nothing may be held back at the end.

    Each process writes its epoch once, so these records are left out.
    """
    seen: Contents = {}
    for topic, partitions in broker.topics.items():
        if topic == progress_topic(PREFIX):
            continue
        for number, partition in enumerate(partitions):
            assert partition.last_stable_offset == partition.end, f"{topic} is held back"
            records = [
                record for record in broker.visible((topic, number)) if not _is_epoch(topic, record)
            ]
            if records:
                seen[topic, number] = records
    return seen


def check_story(chosen: Scenario, broker: Broker) -> None:
    """Check what is visible against the story, and each progress record against what it covers."""
    groups = chosen.story.groups
    expected = _expected(groups_published(chosen))
    seen = {
        partition_id: [_published(partition_id[0], record) for record in records]
        for partition_id, records in contents(broker).items()
        if partition_id[0] != schema_topic(PREFIX)
    }
    assert seen == expected
    covered_groups = _Covered(chosen)
    so_far: dict[PartitionId, int] = defaultdict(int)
    epoch = 0
    for progress, transaction in zip(committed_progress(broker), broker.committed, strict=True):
        for partition_id, record in transaction.records:
            so_far[partition_id] += 1
            if _is_epoch(partition_id[0], record):
                epoch = json.loads(record.value or b"")["epoch"]
        assert epoch == progress.epoch
        covered = _expected(groups_published(chosen)[: covered_groups.groups_before(progress)])
        rows = {partition_id: n for partition_id, n in so_far.items() if partition_id in expected}
        counts = {partition_id: len(records) for partition_id, records in covered.items()}
        assert rows == counts, progress
    assert covered_groups.groups_before(progress) == len(groups)


def check_alike(broker: Broker, undisturbed: Broker) -> None:
    """Check that every record is the one of a run in which nothing went wrong."""
    assert contents(broker) == contents(undisturbed)


def check_same_changes(broker: Broker, undisturbed: Broker) -> None:
    """Check that every record is the one of such a run, but for its positions in the log."""
    seen, expected = (_without_positions(contents(one)) for one in (broker, undisturbed))
    assert seen == expected


def check_rising(broker: Broker) -> None:
    """Check that sequences rise in each partition; a tombstone has that of its delete."""
    for (topic, _), records in contents(broker).items():
        if topic == schema_topic(PREFIX):
            continue
        last = b""
        for record in records:
            sequence = dict(record.headers)[HEADER_SEQ]
            assert sequence > last or (record.value is None and sequence == last)
            last = sequence


def undisturbed(chosen: Scenario) -> Broker:
    """Run without faults, and check what comes of it."""
    broker = simulate(chosen.servers, Undisturbed()).broker
    check_story(chosen, broker)
    check_rising(broker)
    return broker


def groups_published(chosen: Scenario) -> list[list[Published]]:
    """Return the records of each group."""
    return [group.published for group in chosen.story.groups]


class _Covered:
    """Says how many groups a progress record covers."""

    def __init__(self, chosen: Scenario) -> None:
        self._before = {
            server.identity.server_uuid: writer.groups_before
            for server, writer in zip(chosen.servers, chosen.writers, strict=True)
        }
        self._last = (("", 0), 0)

    def groups_before(self, progress: Progress) -> int:
        position = progress.file, progress.position
        last_position, last_count = self._last
        if position == last_position or not progress.file:
            # After a failover, the position is unknown until the first transaction.
            return last_count
        count = self._before[progress.server_uuid][position]
        self._last = position, count
        return count


def _is_epoch(topic: str, record: Record) -> bool:
    """Return whether a record has the epoch of a pipeline, beside its fences."""
    return topic == _FENCES_TOPIC and record.key == epoch_key(NAME)


def _expected(groups: Iterable[list[Published]]) -> dict[PartitionId, list[Published]]:
    expected: dict[PartitionId, list[Published]] = defaultdict(list)
    for group in groups:
        for record in group:
            expected[_partition_id(record)].append(record)
    return dict(expected)


def _partition_id(record: Published) -> PartitionId:
    if not record.table:
        return PREFIX, 0
    key = None if record.id is None else b'{"id":%d}' % record.id
    number = partition_of(key, SETTINGS.kafka.partitions)
    return row_topic(PREFIX, DATABASE, record.table), number


def _published(topic: str, record: Record) -> Published:
    value: Any = None if record.value is None else json.loads(record.value)
    if topic == PREFIX:
        return Published("", None, "", value["ddl"])
    table = topic.rpartition(".")[2]
    assert table in TABLES, topic
    row_id = None if record.key is None else json.loads(record.key)["id"]
    if value is None:
        return Published(table, row_id, "", None)
    image = value["before"] if value["op"] == "d" else value["after"]
    return Published(table, row_id, value["op"], None if image is None else image["text"])


def _without_positions(found: Contents) -> dict[PartitionId, list[object]]:
    return {
        partition_id: [_without_position(record) for record in records]
        for partition_id, records in found.items()
        if partition_id[0] != schema_topic(PREFIX)
    }


def _without_position(record: Record) -> object:
    headers = {name: value for name, value in record.headers if name != HEADER_SEQ}
    value = None if record.value is None else json.loads(record.value)
    if value is not None:
        for name in ("file", "pos"):
            del value["source"][name]
    return record.key, value, headers, record.timestamp_ms
