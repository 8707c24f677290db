"""Records go that each mirror has, and no others; in a log in a folder, which needs no server."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from connector.kafka.folder import door
from stream_jobs.errors import record_errors
from stream_jobs.run.record_retention import RecordRetention
from stream_jobs.settings import Settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.mirror_groups import MirrorGroups, group_of
from tests.kafka.folder.folder_clients import (
    TOPIC,
    admin_of,
    batch_of,
    commit,
    create,
    producer_of,
    url_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet
    from pathlib import Path

ORDERS = TOPIC, 0
ITEMS = "shop.erp.items", 1
HOUR_MS = 3_600_000
WRITTEN_MS = 1_795_000_000_000


class Mirror:
    """A mirror of the topics: its job has run for so long that others know it."""

    def __init__(self, folder: Path, name: str, hours: float = 6.0) -> None:
        kafka: dict[str, Any] = {
            "bootstrap_servers": [url_of(folder)],
            "topic_prefix": "shop",
            "delete_after_hours": hours,
            "request_timeout_seconds": 2.0,
        }
        document: dict[str, Any] = {"kafka": kafka, "mirror": {"path": f"/lake/{name}"}}
        self.settings = Settings(name=name, **document)
        self.client = KafkaClient(self.settings.kafka.facts())
        self.now_ms = WRITTEN_MS + 100 * HOUR_MS
        # The topics of each sync.
        self.synced: list[AbstractSet[str]] = []
        self.begin()

    def begin(self) -> None:
        """Be the next process."""
        self._retention = RecordRetention(
            self.settings, self.client, self.synced.append, lambda: self.now_ms
        )

    @property
    def pause_seconds(self) -> float:
        return self._retention.pause_seconds

    def turn(self, applied: dict[tuple[str, int], int]) -> None:
        assert self._retention.turn(applied) is None

    def problem(self, applied: dict[tuple[str, int], int]) -> str:
        message = self._retention.turn(applied)
        assert message is not None
        assert message.code is record_errors.NOT_DELETED
        return str(message.facts["why"])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A log with ten transactions of two records, one an hour, each with a marker after it."""
    create(tmp_path, TOPIC, ITEMS[0])
    producer = producer_of(tmp_path)
    for hour in range(10):
        time_ms = WRITTEN_MS + hour * HOUR_MS
        commit(
            producer,
            batch_of([b"1", b"2"], *ORDERS, time_ms),
            batch_of([b"1", b"2"], *ITEMS, time_ms),
        )
    producer.close_now()
    yield tmp_path
    door.close()


@pytest.fixture
def mirror(folder: Path) -> Iterator[Mirror]:
    own = Mirror(folder, "a")
    yield own
    own.client.close()


@pytest.fixture
def other(folder: Path) -> Iterator[Mirror]:
    own = Mirror(folder, "b", hours=0)
    yield own
    own.client.close()


def first(mirror: Mirror) -> tuple[int, int]:
    found = mirror.client.first_offsets([ORDERS, ITEMS])
    return found[ORDERS], found[ITEMS]


def test_what_the_mirror_has_goes_after_some_hours_and_nothing_else(mirror: Mirror) -> None:
    applied = {ORDERS: 9, ITEMS: 30}
    mirror.turn(applied)
    # The others may not have seen it.
    assert first(mirror) == (0, 0)
    mirror.now_ms = WRITTEN_MS + 8 * HOUR_MS
    mirror.turn(applied)
    # Those of the hours 0 and 1.
    assert first(mirror) == (6, 6)
    mirror.now_ms += 3 * HOUR_MS
    mirror.turn(applied)
    assert first(mirror) == (9, 15)
    mirror.now_ms += 100 * HOUR_MS
    mirror.turn(applied)
    assert first(mirror) == (9, 30)
    # Before another program hears of it, what has moved is on the disk.
    assert mirror.synced == [{TOPIC, ITEMS[0]}]
    # The next process of the job goes on at once, and a mirror that is made again takes nothing.
    mirror.begin()
    mirror.turn({ORDERS: 12})
    assert first(mirror) == (12, 30)
    mirror.begin()
    mirror.turn({ORDERS: 12, ITEMS: 0})
    assert first(mirror) == (12, 30)


def test_what_another_mirror_lacks_stays_although_it_deletes_nothing_itself(
    mirror: Mirror, other: Mirror, folder: Path
) -> None:
    other.turn({ORDERS: 6})
    with closing(admin_of(folder)) as admin:
        # Without a mirror that deletes, nobody needs to know.
        assert admin.list_groups() == []
    mirror.turn({ORDERS: 9, ITEMS: 30})
    other.turn({ORDERS: 6})
    mirror.turn({ORDERS: 9, ITEMS: 30})
    # The other one has no table of the second topic.
    assert first(mirror) == (6, 30)
    other.turn({ORDERS: 7})
    mirror.turn({ORDERS: 12, ITEMS: 30})
    assert first(mirror) == (7, 30)
    # It is made again, from where the topic begins now.
    other.turn({ORDERS: 7, ITEMS: 30})
    mirror.turn({ORDERS: 30, ITEMS: 30})
    assert first(mirror) == (7, 30)


def test_mirrors_of_one_prefix_have_groups_that_kafkas_tools_show(
    mirror: Mirror, folder: Path
) -> None:
    mirror.turn({ORDERS: 9})
    with closing(admin_of(folder)) as admin:
        assert MirrorGroups(admin, "shop").names() == {group_of("shop", "a", "/lake/a")}
        assert MirrorGroups(admin, "sho").names() == set()
    assert group_of("shop", "a", "/lake/a") != group_of("shop", "a", "/lake/b")


def test_topics_that_are_compacted_deleted_or_shorter_stay_as_they_are(
    mirror: Mirror, folder: Path
) -> None:
    applied = {ORDERS: 9, ITEMS: 12}
    mirror.turn(applied)
    with closing(admin_of(folder)) as admin:
        compacted = {"cleanup.policy": "compact"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC, compacted)])
        mirror.turn(applied)
        assert first(mirror) == (0, 12)
        admin.delete_topics([ITEMS[0]])
        mirror.turn(applied | {ITEMS: 15, (TOPIC, 7): 1})
        create(folder, ITEMS[0])
        mirror.turn(applied | {ITEMS: 15})
        assert first(mirror) == (0, 0)


def test_a_log_that_does_not_answer_is_a_reason_and_no_end(mirror: Mirror, folder: Path) -> None:
    door.close()
    moved = folder.rename(folder.with_name("moved"))
    folder.touch()
    assert str(folder) in mirror.problem({ORDERS: 9})
    folder.unlink()
    moved.rename(folder)
    mirror.turn({ORDERS: 9})


def test_steps_are_parts_of_the_hours(folder: Path) -> None:
    seconds = {}
    for hours in (0, 0.24, 6, 100):
        own = Mirror(folder, "a", hours)
        seconds[hours] = own.pause_seconds
        own.client.close()
    assert seconds == {0: 60, 0.24: 36, 6: 900, 100: 900}
