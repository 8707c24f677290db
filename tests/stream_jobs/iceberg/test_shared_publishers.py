"""Pipelines that publish one table: readers see its versions, whoever dies or stands still."""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pytest

from stream_jobs.delta import log
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.iceberg import publisher as publishing
from stream_jobs.iceberg.cut_tags import CutTags
from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from tests.length import length
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.readers import (
    DuckDB,
    delta_rs_rows,
    opened,
    pyiceberg_rows,
)
from tests.stream_jobs.iceberg.test_publisher import compact, with_columns
from tests.stream_jobs.iceberg.turns import Clock, Process

if TYPE_CHECKING:
    from pathlib import Path

    from stream_jobs.delta.snapshot import Snapshot
    from tests.stream_jobs.iceberg.turns import TurnStorage

PREFIXES: Final = ("eu", "us_1")
SNAPSHOTS: Final = 4
CUTS: Final = 3
LATE_MS: Final = 290_000
LONG_MS: Final = 1_200_000


@dataclass
class Pipeline:
    """One of the pipelines: what it knows, and what it has promised to readers."""

    prefix: str
    view: Snapshot
    publisher: TablePublisher | None = None
    process: Process | None = None
    number: int = 0
    # By number of a cut: its version, and when it was written.
    versions: dict[int, int] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    # Those that readers of Iceberg may ask for.
    listed: dict[int, int] = field(default_factory=dict)

    @property
    def tags(self) -> CutTags:
        return CutTags(self.prefix)


class Story:
    """A table, the pipelines that publish it, and the processes that do."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.clock = Clock()
        self.root = folder
        self.sample = Sample(LocalStorage(str(folder)), "shop/t")
        self.files = TableFiles(LocalStorage(str(folder)), reader_uri(str(folder)), is_shared=True)
        self.folder = folder / "_iceberg" / "shop" / "t"
        # Some readers take the snapshot 0 for none.
        self.sample.append([-1])
        self.pipelines = [Pipeline(each, self.sample.table.snapshot) for each in PREFIXES]
        # Processes that another one has replaced.
        self.late: list[Process] = []
        self.ids = 0
        self.current = -1
        self.newest = 0
        # Whether a process has died since the hint was right.
        self.has_deaths = False

    def change(self, pipeline: Pipeline) -> None:
        """Commit a version of the Delta table, which its pipeline then knows."""
        dice, sample = self.dice, self.sample
        files = [file for file in sample.table.snapshot.files.values() if file.live]
        kind = dice.choice(["append", "append", "kill", "kill", "compact", "columns"])
        if kind == "kill" and files:
            picked = dice.sample(files, min(3, len(files)))
            sample.kill(
                **{f.path: dice.sample(range(f.rows), dice.randint(1, f.rows)) for f in picked}
            )
        elif kind == "compact" and files:
            compact(sample)
        elif kind == "columns" and dice.random() < 0.3:
            columns = list(sample.table.snapshot.columns)
            with_columns(sample, [c for c in columns if c.name != dice.choice(["tiny", "money"])])
        else:
            count = dice.choice([1, 5, 40])
            sample.append(range(self.ids, self.ids + count))
            self.ids += count
        pipeline.view = sample.table.snapshot

    def begin(self, pipeline: Pipeline, *, cut: bool) -> None:
        """Let a pipeline publish what it knows, in a process or a thread of it."""
        if cut:
            pipeline.number += 1
            pipeline.versions[pipeline.number] = pipeline.view.version
            pipeline.written[pipeline.number] = self.clock.ms
        number = pipeline.number if cut else None
        recent = {n: at for n, at in pipeline.listed.items() if n > pipeline.number - CUTS}
        if number is not None:
            recent[number] = pipeline.written[number]
        pipeline.listed = {n: at for n, at in pipeline.listed.items() if n in recent}
        occasion = Occasion(self.clock.ms, {}, number, recent, newest_cut=pipeline.number)
        view, known = pipeline.view, pipeline.publisher
        only_tag = cut and self.dice.random() < 0.4

        def work(storage: TurnStorage) -> TablePublisher:
            own = known or TablePublisher(
                TableFiles(storage, self.files.uri, is_shared=True),
                "shop/t",
                SNAPSHOTS,
                pipeline.tags,
            )
            own._files.storage = storage
            if not (only_tag and own.tag(view.version, view.metadata.table_id, occasion)):
                own.publish(view, occasion)
            return own

        pipeline.process = Process(self.clock, work, str(self.root))

    def end(self, pipeline: Pipeline) -> None:
        """Note what a process of a pipeline has done."""
        process, pipeline.process = pipeline.process, None
        assert process is not None
        pipeline.publisher = process.result
        if process.result is not None and pipeline.number in pipeline.versions:
            head = self.files.load("shop/t")
            assert head is not None
            if pipeline.tags.of(pipeline.number) in head.metadata["refs"]:
                pipeline.listed[pipeline.number] = pipeline.written[pipeline.number]

    def step(self) -> None:
        """Let somebody do something."""
        dice, pipeline = self.dice, self.dice.choice(self.pipelines)
        if dice.random() < 0.1:
            pipeline.view = self.sample.table.snapshot
        if pipeline.process is None:
            if dice.random() < 0.5:
                self.change(pipeline)
            self.begin(pipeline, cut=dice.random() < 0.5)
            return
        chance = dice.random()
        if chance < 0.005:
            self.settle()
        elif chance < 0.01:
            # Another process takes over; this one stands still for now.
            self.late.append(pipeline.process)
            pipeline.process = pipeline.publisher = None
        elif chance < 0.02 and not self.is_exposed:
            self.clock.ms += LONG_MS
        else:
            turns = dice.choice([1, 1, 2, 5, 200])
            self.go_on(pipeline.process, turns, dies=chance < 0.03)
            if pipeline.process.is_over:
                self.end(pipeline)
        if self.late and dice.random() < 0.1:
            own = dice.choice(self.late)
            self.go_on(own, dice.choice([1, 50]), dies=dice.random() < 0.1)
            self.late = [each for each in self.late if not each.is_over]

    def settle(self) -> None:
        """Let all processes end."""
        while running := [process for process in self.processes if not process.is_over]:
            self.go_on(self.dice.choice(running), self.dice.choice([1, 2, 5]))
        for pipeline in self.pipelines:
            if pipeline.process is not None:
                self.end(pipeline)
        self.late = []
        hint = self.folder / "metadata" / "version-hint.text"
        is_right = hint.exists() and int(hint.read_text()) == self.numbers()[-1]
        assert is_right or self.has_deaths, "readers do not see the newest change"
        self.has_deaths = not is_right

    @property
    def processes(self) -> list[Process]:
        return [p.process for p in self.pipelines if p.process is not None] + self.late

    @property
    def is_exposed(self) -> bool:
        """Whether a process has checked the time already that it has for its next request."""
        return any(process.changes_table for process in self.processes)

    def go_on(self, process: Process, turns: int, *, dies: bool = False) -> None:
        """Give turns to a process."""
        for _ in range(turns):
            for other in self.processes:
                waited = self.clock.ms - other.since
                if other is not process and other.changes_table and waited > LATE_MS:
                    self.turn(other)
            if process.is_over:
                return
            self.turn(process, dies=dies)
            dies = False

    def turn(self, process: Process, *, dies: bool = False) -> None:
        self.clock.ms += self.dice.randint(1, 1000)
        request = process.request
        self.has_deaths = self.has_deaths or dies
        process.take_turn(dies=dies)
        if request.startswith(("write", "delete")) and not dies:
            self.look()

    def look(self) -> None:
        """Look at what readers find by the hint, and at what the newest metadata say."""
        hint = self.folder / "metadata" / "version-hint.text"
        if not hint.exists():
            return
        newest = self.numbers()[-1]
        for number in {int(hint.read_text()), newest}:
            document = self.document(number)
            names = {entry["manifest-list"] for entry in document["snapshots"]}
            lost = [
                name
                for name in names
                if not (self.root / name.split(str(self.root) + "/")[1]).exists()
            ]
            assert not lost, (number, lost)
        if newest > self.newest:
            current = self.document(newest)["current-snapshot-id"]
            assert current >= self.current, "the current snapshot has gone back"
            self.newest, self.current = newest, current

    def document(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.metadata(number).read_text())
        return found

    def metadata(self, number: int) -> Path:
        return self.folder / "metadata" / f"v{number}.metadata.json"

    def numbers(self) -> list[int]:
        names = self.folder.glob("metadata/v*.metadata.json")
        return sorted(int(path.name[1:].partition(".")[0]) for path in names)

    def check(self, duckdb: DuckDB) -> None:
        """Compare what readers see, now and at each cut, with what delta-rs does."""
        hint = self.folder / "metadata" / "version-hint.text"
        if not hint.exists():
            return
        table = opened(self.folder)
        current = table.current_snapshot()
        assert current is not None
        for read in (pyiceberg_rows, duckdb.rows):
            assert read(self.folder) == delta_rs_rows(self.root / "shop/t", current.snapshot_id)
        head = self.files.load("shop/t")
        assert head is not None
        refs = head.metadata["refs"]
        newest = self.metadata(head.number)
        for pipeline in self.pipelines:
            for number in pipeline.listed:
                version = pipeline.versions[number]
                assert refs[pipeline.tags.of(number)]["snapshot-id"] == version
                rows = delta_rs_rows(self.root / "shop/t", version)
                for read in (pyiceberg_rows, duckdb.rows):
                    assert read(newest, version) == rows, (pipeline.prefix, number)


@pytest.fixture(scope="module")
def duckdb() -> DuckDB:
    return DuckDB()


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(publishing, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(publishing, "_SWEEP_EVERY", 1)
    return lambda clock: monkeypatch.setattr(log, "now", clock.now)


@pytest.mark.parametrize("number", range(length(short=3, full=60)))
def test_readers_see_versions_and_cuts_whoever_dies_or_stands_still(
    tmp_path: Path, duckdb: DuckDB, simulated: Any, number: int
) -> None:
    seed = int(os.environ.get("SEED", "7")) * 1000 + number
    story = Story(tmp_path, seed)
    simulated(story.clock)
    for count in range(400):
        story.step()
        if count % 80 == 79:
            story.check(duckdb)
    for pipeline in story.pipelines:
        pipeline.view = story.sample.table.snapshot
        if pipeline.process is not None:
            story.go_on(pipeline.process, 10_000)
            story.end(pipeline)
        pipeline.publisher = None
        story.begin(pipeline, cut=True)
        assert pipeline.process is not None
        story.go_on(pipeline.process, 10_000)
        story.end(pipeline)
        assert pipeline.number in pipeline.listed
    story.check(duckdb)
    current = opened(story.folder).current_snapshot()
    assert current is not None
    assert current.snapshot_id == story.sample.table.snapshot.version


@pytest.fixture
def story(tmp_path: Path, simulated: Any) -> Story:
    """A table that is published; the processes below publish the next versions of it."""
    story = Story(tmp_path, 1)
    simulated(story.clock)
    publish(story, 0)
    return story


def publish(story: Story, number: int) -> None:
    """Let a pipeline publish a version more."""
    pipeline = story.pipelines[number]
    story.change(pipeline)
    story.begin(pipeline, cut=False)
    assert pipeline.process is not None
    while not pipeline.process.is_over:
        story.turn(pipeline.process)
    story.end(pipeline)


def begun(story: Story, request: str) -> Process:
    """Return a process of the first pipeline, which stands still before a request."""
    pipeline = story.pipelines[0]
    story.change(pipeline)
    story.begin(pipeline, cut=False)
    process = pipeline.process
    assert process is not None
    while request not in process.request:
        story.turn(process)
    return process


def test_a_hint_that_is_written_late_names_the_newest_change(story: Story, duckdb: DuckDB) -> None:
    late = begun(story, "write _iceberg/shop/t/metadata/version-hint.text")
    publish(story, 1)
    while not late.is_over:
        story.turn(late)
    story.settle()
    assert not story.has_deaths
    story.check(duckdb)


@pytest.mark.parametrize(
    ("before", "minutes", "count"),
    [
        ("read _iceberg/shop/t/metadata/version-hint.text", 60, 12),
        ("write _iceberg/shop/t/metadata/v2.metadata.json", 0, 12),
        ("write _iceberg/shop/t/metadata/v2.metadata.json", 4, 12),
        # What has its number is deleted meanwhile.
        ("write _iceberg/shop/t/metadata/v2.metadata.json", 60, 30),
        ("write _iceberg/shop/t/metadata/snap-", 60, 30),
    ],
)
def test_a_process_that_is_late_publishes_after_what_others_have(
    story: Story, duckdb: DuckDB, before: str, minutes: int, count: int
) -> None:
    late = begun(story, before)
    for _ in range(count):
        story.clock.ms += minutes * 60_000 // count
        publish(story, 1)
    newest = story.numbers()[-1]
    while not late.is_over:
        story.turn(late)
    story.settle()
    assert story.numbers()[-1] in (newest, newest + 1)
    story.check(duckdb)


def test_readers_of_a_state_have_its_files_for_minutes(story: Story) -> None:
    """Also those of snapshots that have expired since."""
    for _ in range(SNAPSHOTS):
        story.clock.ms += LONG_MS
        publish(story, 0)
    entries = story.document(story.numbers()[-1])["snapshots"]
    story.clock.ms += LONG_MS
    for number in range(3 * SNAPSHOTS):
        publish(story, number % 2)
    kept = {entry["snapshot-id"] for entry in story.document(story.numbers()[-1])["snapshots"]}
    assert not kept & {entry["snapshot-id"] for entry in entries}
    names = [entry["manifest-list"].rpartition("/")[2] for entry in entries]
    assert [name for name in names if not (story.folder / "metadata" / name).exists()] == []


def test_files_that_nothing_names_go(story: Story, duckdb: DuckDB) -> None:
    """Those of processes that have died, too."""
    for _ in range(5):
        process = begun(story, "write _iceberg/shop/t/metadata/v")
        story.turn(process, dies=True)
        story.end(story.pipelines[0])
    for number in range(60):
        story.clock.ms += 60_000
        publish(story, number % 2)
    story.check(duckdb)
    # Of the changes of ten minutes, of ten more, and of those since files were looked for.
    assert len(story.numbers()) <= 30
    assert len(list(story.folder.glob("metadata/*"))) <= 120


def test_a_snapshot_for_a_tag_has_no_vectors_of_later_versions(
    tmp_path: Path, duckdb: DuckDB
) -> None:
    """Some readers apply all vectors of a file."""
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t")
    one, other = sample.append(range(10)), sample.append(range(10, 20))
    files = TableFiles(storage, reader_uri(str(tmp_path)), is_shared=True)
    eu, us = (TablePublisher(files, "shop/t", SNAPSHOTS, CutTags(name)) for name in PREFIXES)
    at = 1_800_000_000_000
    us.publish(sample.table.snapshot, Occasion(at))
    sample.kill(**{one.path: [1], other.path: [1]})
    view = sample.table.snapshot
    sample.kill(**{one.path: [2, 3]})
    us.publish(sample.table.snapshot, Occasion(at))
    head = eu.publish(view, Occasion(at, cut=1, cuts={1: at}))
    refs = {name: ref["snapshot-id"] for name, ref in head.metadata["refs"].items()}
    newest = sample.table.snapshot.version
    assert refs == {"main": newest, "cut_eu_1": view.version, "latest_cut_eu": view.version}
    folder = tmp_path / "_iceberg" / "shop" / "t"
    for version in (view.version, newest):
        rows = delta_rs_rows(tmp_path / "shop" / "t", version)
        assert pyiceberg_rows(folder, version) == rows
        assert duckdb.rows(folder, version) == rows
