"""The tags of cuts: each pipeline removes its own, and those of others only when they are over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.iceberg.cut_tags import ALONE, CutTags, is_cut_tag
from stream_jobs.iceberg.metadata import tags
from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path

HOUR_MS = 3_600_000
WEEK_MS = 7 * 86_400_000
AT = 1_800_000_000_000


def ref(snapshot: int) -> dict[str, object]:
    return {"snapshot-id": snapshot, "type": "tag"}


@pytest.mark.parametrize(
    ("name", "prefix", "number"),
    [
        ("cut_42", None, 42),
        ("cut_eu_42", "eu", 42),
        ("cut_eu_4_2", "eu_4", 2),
        ("cut_7_42", "7", 42),
        ("cut_shop.eu-1_42", "shop.eu-1", 42),
    ],
)
def test_a_tag_is_that_of_one_pipeline(name: str, prefix: str | None, number: int) -> None:
    assert CutTags(prefix).of(number) == name
    for other in (None, "eu", "eu_4", "7", "shop.eu-1"):
        assert CutTags(other).number(name) == (number if other == prefix else None)
    assert is_cut_tag(name)
    assert is_cut_tag(CutTags(prefix).latest)


@pytest.mark.parametrize("name", ["main", "cut_", "cut_eu", "latest", "my_cut_1", "latest_cuts"])
def test_other_tags_are_none_of_a_cut(name: str) -> None:
    assert not is_cut_tag(name)


def test_a_pipeline_keeps_the_tags_of_others_and_of_its_own_later_process() -> None:
    names = (
        "main",
        "cut_eu_1",
        "cut_eu_2",
        "cut_eu_3",
        "latest_cut_eu",
        "cut_us_1",
        "cut_9",
        "own",
    )
    refs = {name: ref(number) for number, name in enumerate(names)}
    kept = CutTags("eu").kept(refs, [2], newest=2)
    assert kept.keys() == refs.keys() - {"cut_eu_1", "own"}
    gone = CutTags("eu").kept(refs, [2], newest=2, is_gone=lambda number: number in (5, 6))
    assert gone.keys() == kept.keys() - {"cut_us_1", "cut_9"}
    assert ALONE.kept(refs, [9], newest=0).keys() == {"main", "cut_9"}


def test_a_late_process_does_not_take_the_newest_cut_back() -> None:
    own = CutTags("eu")
    refs = own.added(own.added({}, 7, 70), 6, 60)
    assert {name: each["snapshot-id"] for name, each in refs.items()} == {
        "cut_eu_7": 70,
        "cut_eu_6": 60,
        "latest_cut_eu": 70,
    }


def test_tags_of_a_pipeline_that_is_gone_go_after_the_retention(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t")
    files = TableFiles(storage, reader_uri(str(tmp_path)), is_shared=True)
    eu, us = (TablePublisher(files, "shop/t", 60, CutTags(name)) for name in ("eu", "us"))
    sample.append([1])
    us.publish(sample.table.snapshot, Occasion(AT, cut=1, cuts={1: AT}))
    eu.publish(sample.table.snapshot, Occasion(AT, cut=1, cuts={1: AT}))
    for at, expected in (
        (AT + 1000, {"main", "cut_eu_1", "latest_cut_eu", "cut_us_1", "latest_cut_us"}),
        # Its own tags go with what it lists, but for the newest: the snapshot is still there.
        (AT + WEEK_MS * 4 // 5, {"main", "latest_cut_eu", "cut_us_1", "latest_cut_us"}),
        (AT + WEEK_MS + 500, {"main", "latest_cut_eu", "cut_us_1", "latest_cut_us"}),
        (AT + WEEK_MS + 1500, {"main"}),
    ):
        sample.append([2])
        head = eu.publish(sample.table.snapshot, Occasion(at, cuts={1: AT}, newest_cut=1))
        assert head.metadata["refs"].keys() == expected


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(LocalStorage(str(tmp_path)), "shop/t")


def publisher(sample: Sample, prefix: str | None, snapshots: int = 60) -> TablePublisher:
    storage = sample.storage
    assert isinstance(storage, LocalStorage)
    files = TableFiles(storage, reader_uri(storage.root), is_shared=prefix is not None)
    return TablePublisher(files, "shop/t", snapshots, CutTags(prefix))


def published(
    publisher: TablePublisher, sample: Sample, at: int, cut: int | None = None
) -> dict[str, int]:
    """Publish the newest version, and return which snapshot has which tag."""
    cuts = {} if cut is None else {cut: at}
    return tags(publisher.publish(sample.table.snapshot, Occasion(at, {}, cut, cuts)).metadata)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_pipeline_that_comes_back_moves_the_tag_of_an_old_cut(
    sample: Sample, *, is_known: bool
) -> None:
    """Its cuts begin at 1 again, and another pipeline has published its version already."""
    sample.append([1])
    published(publisher(sample, "us"), sample, AT, cut=1)
    sample.append([2])
    published(publisher(sample, "eu"), sample, AT + 1000)
    snapshot = sample.table.snapshot
    occasion = Occasion(AT + 2000, {}, 1, {1: AT + 2000})
    back = publisher(sample, "us")
    if is_known:
        assert back.tag(snapshot.version, snapshot.metadata.table_id, occasion)
    head = back.publish(snapshot, occasion)
    expected = dict.fromkeys(("cut_us_1", "latest_cut_us"), snapshot.version)
    assert tags(head.metadata) == expected


def test_the_newest_cut_of_a_pipeline_that_comes_back_has_a_lower_number(sample: Sample) -> None:
    sample.append([1])
    published(publisher(sample, "us"), sample, AT, cut=500)
    old = sample.table.snapshot.version
    sample.append([2])
    found = published(publisher(sample, "us"), sample, AT + 1000, cut=1)
    assert found == {"cut_us_500": old, "cut_us_1": old + 1, "latest_cut_us": old + 1}


@pytest.mark.parametrize("prefix", [None, "us"])
def test_tags_of_others_go_after_the_retention_if_there_are_few_snapshots(
    sample: Sample, prefix: str | None
) -> None:
    """Although the snapshot that has replaced theirs is gone long before."""
    for number in (1, 2):
        sample.append([number])
        published(publisher(sample, prefix, 4), sample, AT, cut=number)
    eu = publisher(sample, "eu", 4)
    seen = {}
    for at in range(AT, AT + WEEK_MS + 12 * HOUR_MS, 6 * HOUR_MS):
        sample.append([3])
        seen[at] = published(eu, sample, at).keys()
    assert [at for at, names in seen.items() if names] == [at for at in seen if at <= AT + WEEK_MS]
    assert seen[AT + WEEK_MS] == {CutTags(prefix).of(2), CutTags(prefix).latest}
