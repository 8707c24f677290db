"""A job that dies at any write, or meets another writer at any commit, ends with the right rows.

Batches are applied in this process, without Spark, over a real broker: what is tested is everything
between the ranges of a batch and the commits.
"""

from __future__ import annotations

import random
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.task import run_task
from stream_jobs.apply.task_messages import Task
from stream_jobs.cuts.cut import CutStore
from stream_jobs.cuts.cut_target import CutTargetFinder
from stream_jobs.delta import compaction, parquet_file
from stream_jobs.delta.compaction import CompactionLimits
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.pipeline_folder import PipelineFolder
from stream_jobs.run.batch import BatchApplier
from stream_jobs.run.cut_coordinator import CutCoordinator
from stream_jobs.run.cut_history import CutHistory
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topic_filter import NO_SKIPPED_TABLES
from stream_jobs.source.topics import BrokerConfig, OffsetRange
from stream_jobs.tables.maintenance import TableMaintenance
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.schema_rules import SchemaRules
from stream_jobs.tables.table_options import TableOptionsResolver
from stream_jobs.tables.table_work import Rounds
from stream_jobs.tables.topic_state import TopicStates
from tests.integration.mirror.test_simulated_stories import COLUMNS, Source
from tests.length import length
from tests.stream_jobs.delta.other_writer import compact
from tests.stream_jobs.topics import PARTITIONS, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from stream_jobs.apply.task_messages import PartResult
    from stream_jobs.delta.storage import Storage
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

STORIES = length(short=2, full=200)
CHANGES = 40


class Died(Exception):
    """Stands for the end of the process."""


@dataclass
class Fate:
    """When the process dies: before so many writes, or after the last of them."""

    writes_left: int = 10**9

    def strike(self) -> None:
        self.writes_left -= 1
        if self.writes_left < 0:
            raise Died


@dataclass(frozen=True, slots=True)
class MortalStorage(LocalStorage):
    """A folder; the process may die before and after each write."""

    fate: Fate = field(default_factory=Fate)

    def write(self, path: str, content: bytes | memoryview) -> None:
        self.fate.strike()
        LocalStorage.write(self, path, content)
        self.fate.strike()

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self.fate.strike()
        was_put = LocalStorage.put_if_absent(self, path, content)
        self.fate.strike()
        return was_put

    def delete(self, path: str) -> None:
        self.fate.strike()
        LocalStorage.delete(self, path)


class Process:
    """One life of the job."""

    def __init__(
        self,
        kafka: Kafka,
        folder: Path,
        fate: Fate,
        bytes_max: int = 1 << 20,
        records_max: int = 10_000,
    ) -> None:
        self.kafka = kafka
        facts = BrokerConfig((kafka.bootstrap,), 20.0, ())
        self.client = KafkaClient(facts)
        self.storage: Storage = MortalStorage(str(folder / "mirror"), fate)
        registry = SchemaRegistry(self.client, kafka.prefix)
        rules = SchemaRules(registry, "mirror", "error", "error")
        services = MirrorContext(
            self.storage,
            "mirror",
            self.client,
            rules,
            {},
            PipelineFolder(self.storage, "mirror"),
            accept_partitions=False,
        )
        self.between: Callable[[], None] = lambda: None
        index = IndexFolder(str(folder / "indexes"), 1 << 20)
        template = Task(facts, self.storage, index, "error", bytes_max)
        states = TopicStates(self.storage, "mirror", registry, TableOptionsResolver([]))
        targets = CutTargetFinder.of(self.client, kafka.prefix, NO_SKIPPED_TABLES)
        record = CutHistory(CutStore(self.storage, "mirror"), 3_600_000)
        self.applier = BatchApplier(
            services,
            states,
            Rounds(template, self._run, lambda: 2, 1, nullcontext()),
            TableMaintenance(template, self._run, lambda: 2, 1, 1 << 20),
            CutCoordinator(targets, record, states, records_max),
        )

    def _run(self, tasks: Sequence[Task]) -> list[PartResult]:
        results = [result for task in tasks for result in run_task(task)]
        self.between()
        return results

    def ends(self, topic: str) -> dict[int, int]:
        """The ends of the partitions, once the markers of all transactions are there."""
        wanted = [(topic, number) for number in range(PARTITIONS)]
        while True:
            found = {number: end for (_, number), end in self.client.end_offsets(wanted).items()}
            if found == {int(n): end for n, end in self.kafka.end_offsets(topic).items()}:
                return found
            time.sleep(0.01)

    def apply(self, topic: str, starts: dict[int, int], ends: dict[int, int]) -> None:
        self.applier.apply(
            [OffsetRange(topic, number, starts.get(number, 0), end) for number, end in ends.items()]
        )

    def close(self) -> None:
        self.client.close()


def mirror_rows(folder: Path, path: str) -> list[tuple[int, ...]]:
    storage = LocalStorage(str(folder / "mirror"))
    table = DeltaTable.open(storage, path)
    if table is None:
        return []
    columns = [each for each in table.snapshot.columns if not each.name.startswith("_cdc_")]
    rows = []
    for file in table.snapshot.files.values():
        data = parquet_file.live_rows(storage, path, file, columns)
        rows += [tuple(row.values()) for row in data.to_pylist()]
    return sorted(rows)


def test_whatever_dies_and_whatever_others_commit_the_rows_are_those_of_the_source(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The files of a few rows are worth a compaction, each alone.
    monkeypatch.setattr(compaction, "_SMALLEST", 1)
    deaths = conflicts = 0
    for seed in range(STORIES):
        found = story(kafka, tmp_path / str(seed), seed)
        deaths, conflicts = deaths + found[0], conflicts + found[1]
    assert deaths > STORIES
    assert conflicts > 0


def story(kafka: Kafka, folder: Path, seed: int) -> tuple[int, int]:
    """Return how often the process died, and how often another writer was faster."""
    dice = random.Random(seed)
    (folder / "mirror").mkdir(parents=True)
    table = SourceTable(kafka, f"items{seed}", COLUMNS).create()
    path = f"shop/items{seed}"
    source = Source(table, dice)
    starts: dict[int, int] = {}
    fate = Fate()
    # Sometimes a batch is more than a task may hold.
    bytes_max = dice.choice([1, 1000, 5000, 1 << 20])
    process = Process(kafka, folder, fate, bytes_max)
    deaths = 0
    others: list[int] = []
    for _ in range(6):
        for _ in range(dice.randint(1, CHANGES)):
            source.change()
        ends = process.ends(table.topic)
        if dice.random() < 0.3:
            # The batch ends anywhere.
            ends = {n: dice.randint(min(starts.get(n, 0), end), end) for n, end in ends.items()}
        while True:
            fate.writes_left = dice.randint(0, 14) if dice.random() < 0.6 else 10**9
            if dice.random() < 0.5:
                process.between = foreign(folder, path, dice, others)
            try:
                process.apply(table.topic, starts, ends)
                break
            except Died:
                deaths += 1
                process.close()
                process = Process(kafka, folder, fate, bytes_max)
        process.between = lambda: None
        fate.writes_left = 10**9
        starts = ends if dice.random() < 0.8 else {}
        if ends == process.ends(table.topic):
            expected = sorted((row["id"], row["version"]) for row in source.rows.values())
            assert mirror_rows(folder, path) == expected, f"seed {seed}"
    process.apply(table.topic, starts, process.ends(table.topic))
    expected = sorted((row["id"], row["version"]) for row in source.rows.values())
    assert mirror_rows(folder, path) == expected, f"seed {seed}"
    process.close()
    return deaths, len(others)


def foreign(folder: Path, path: str, dice: random.Random, others: list[int]) -> Callable[[], None]:
    """Return what another writer does between the tasks of a round and its commit, once."""
    left = [dice.randint(1, 2)]

    def commit() -> None:
        if left[0]:
            left[0] -= 1
            table = DeltaTable.open(LocalStorage(str(folder / "mirror")), path)
            if table is not None and len(table.snapshot.files) > 1:
                before = table.snapshot.version
                compact(table, ["id"], CompactionLimits(1 << 20, 1 << 20))
                others.extend([before] * (table.snapshot.version - before))

    return commit


def test_a_change_of_columns_that_dies_at_any_write_is_finished_later(
    kafka: Kafka, tmp_path: Path
) -> None:
    stock = column("stock", "int", nullable=False, added_default=5)
    for deadline in range(30):
        folder = tmp_path / str(deadline)
        (folder / "mirror").mkdir(parents=True)
        table = SourceTable(kafka, f"wide{deadline}", COLUMNS).create()
        table.insert({"id": 1, "version": 1}, {"id": 2, "version": 1})
        fate = Fate()
        process = Process(kafka, folder, fate)
        process.apply(table.topic, {}, process.ends(table.topic))
        wider = table.alter(column("id", "bigint", key=1), column("version", "int"), stock)
        wider.insert({"id": 2**40, "version": 2, "stock": 9})
        if deadline % 2:
            wider.truncate()
        wider.insert({"id": 3, "version": 3, "stock": 1})
        fate.writes_left = deadline
        died = False
        try:
            process.apply(table.topic, {}, process.ends(table.topic))
        except Died:
            died = True
        process.close()
        process = Process(kafka, folder, Fate())
        process.apply(table.topic, {}, process.ends(table.topic))
        old = [] if deadline % 2 else [(1, 1, 5), (2, 1, 5), (2**40, 2, 9)]
        expected = sorted([*old, (3, 3, 1)])
        assert mirror_rows(folder, f"shop/wide{deadline}") == expected
        process.close()
        if not died:
            return
    pytest.fail("it never got to the end")
