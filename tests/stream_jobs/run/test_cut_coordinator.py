"""Cuts while tables are copied that have no mirror yet; in a log in a folder, without a server."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from connector.kafka.folder import door
from stream_jobs.cuts.cut import CutStore
from stream_jobs.cuts.cut_target import CutTargetFinder
from stream_jobs.cuts.state_topics import COPYING
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.run.cut_coordinator import CutCoordinator
from stream_jobs.run.cut_history import CutHistory
from stream_jobs.settings import Settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.table_options import TableOptionsResolver
from stream_jobs.tables.topic_state import TopicStates
from tests.kafka.folder.folder_clients import url_of
from tests.stream_jobs.topics import Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stream_jobs.cuts import Cut

_PREFIX = "shop"


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[Kafka]:
    (tmp_path / "log").mkdir()
    with closing(Kafka(url_of(tmp_path / "log"), _PREFIX)) as own:
        own.add_topic(f"{_PREFIX}.snapshot", 1)
        yield own
    door.close()


@pytest.fixture
def client(kafka: Kafka, tmp_path: Path) -> Iterator[KafkaClient]:
    with closing(KafkaClient(settings_of(kafka, tmp_path).kafka.facts())) as own:
        yield own


def settings_of(kafka: Kafka, folder: Path) -> Settings:
    return Settings.model_validate(
        {
            "name": "mirror",
            "kafka": {"bootstrap_servers": [kafka.bootstrap], "topic_prefix": _PREFIX},
            "mirror": {"path": str(folder / "mirror")},
            "tables": [{"match": ["shop.scratch*"], "skip": True}],
        }
    )


def coordinator(kafka: Kafka, client: KafkaClient, folder: Path) -> CutCoordinator:
    """The cuts of a job that has just started."""
    settings = settings_of(kafka, folder)
    path = settings.mirror.path
    storage = LocalStorage(path)
    choices = TableOptionsResolver.of_settings(settings)
    registry = SchemaRegistry(client, _PREFIX, choices=choices)
    return CutCoordinator(
        CutTargetFinder.of(client, _PREFIX, choices.skipped),
        CutHistory(CutStore(storage, path), settings.cuts_ms),
        TopicStates(storage, path, registry, choices),
        1000,
    )


def commit(kafka: Kafka, phase: str, *tables: str) -> None:
    """Publish the states of copies at the same position of the source."""
    with kafka.transaction():
        for table in tables:
            value = {"database": "shop", "table": table, "phase": phase}
            key = f"shop/shop.{table}".encode()
            kafka.send(f"{_PREFIX}.snapshot", key, json.dumps(value).encode(), {}, partition=0)
        kafka.progress()
    kafka.settle()


def cut_of(own: CutCoordinator) -> Cut | None:
    own.begin(())
    return own.finish({})


def test_tables_that_are_copied_are_left_out_before_they_have_a_mirror(
    kafka: Kafka, client: KafkaClient, tmp_path: Path
) -> None:
    commit(kafka, "waiting", "orders", "scratch")
    cut = cut_of(coordinator(kafka, client, tmp_path))
    assert cut is not None
    assert cut.left_out == {"shop.orders": COPYING}


@pytest.mark.parametrize("phase", ["complete", "failed"])
def test_the_end_of_a_copy_without_more_rows_makes_a_cut(
    kafka: Kafka, client: KafkaClient, tmp_path: Path, phase: str
) -> None:
    commit(kafka, "copying", "orders", "items")
    own = coordinator(kafka, client, tmp_path)
    first = cut_of(own)
    assert first is not None
    assert not own.has_news()
    commit(kafka, phase, "items")
    for each in own, coordinator(kafka, client, tmp_path):
        assert each.has_news()
    second = cut_of(own)
    assert second is not None
    assert second.seq == first.seq
    expected = {"shop.items": "its copy has failed"} if phase == "failed" else {}
    assert second.left_out == {"shop.orders": COPYING, **expected}
    assert not own.has_news()
