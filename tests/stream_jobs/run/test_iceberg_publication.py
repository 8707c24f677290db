"""What the turns of a publication make up for: failures, and tags for which there was no time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.iceberg.metadata import current_id, tags
from stream_jobs.iceberg.record import PublicationRecord
from stream_jobs.run import iceberg_publication
from tests.stream_jobs.iceberg.idle_tables import LIMITS, IdleMirror

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def mirror(tmp_path: Path) -> IdleMirror:
    return IdleMirror(str(tmp_path), 3)


@contextmanager
def failing(method: str, folder: str) -> Iterator[None]:
    """A storage that fails for files of a folder."""
    whole = getattr(LocalStorage, method)

    def part(storage: LocalStorage, path: str, *rest: Any) -> Any:
        if path.startswith(folder):
            raise MirrorError(delta_errors.STORAGE_FAILED, path=path, said="no answer")
        return whole(storage, path, *rest)

    with patch.object(LocalStorage, method, part):
        yield


def unpublish(root: Path, number: int) -> None:
    """As if the format had been off."""
    for file in (root / f"_iceberg/shop/t{number}/metadata").iterdir():
        file.unlink()


def version_of(mirror: IdleMirror, number: int) -> int | None:
    head = mirror.files.load(f"shop/t{number}")
    return None if head is None else current_id(head.metadata)


def tags_of(mirror: IdleMirror, number: int) -> dict[str, int]:
    head = mirror.files.load(f"shop/t{number}")
    assert head is not None
    return tags(head.metadata)


def listed_cuts(mirror: IdleMirror) -> list[int]:
    record = PublicationRecord.read(mirror.files.storage, mirror.files.uri)
    return [] if record is None else list(record.cuts)


def test_the_last_cut_gets_its_tag_when_there_is_time(
    mirror: IdleMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.change(mirror.cut())
    mirror.publication.publish()
    # As if that had taken minutes.
    monkeypatch.setattr(iceberg_publication, "TAGGING_SHARE", 1e-9)
    for _ in range(2):
        mirror.change()
        mirror.change(mirror.cut())
        mirror.publication.publish()
    mirror.publication.publish()
    assert listed_cuts(mirror) == [1]
    assert "cut_3" in tags_of(mirror, 0)
    assert "cut_3" not in tags_of(mirror, 1)
    # The source changes nothing more, so there is no later cut.
    monkeypatch.setattr(iceberg_publication, "TAGGING_SHARE", 1e9)
    mirror.publication.publish()
    assert listed_cuts(mirror) == [1, 3]
    assert [tags_of(mirror, number)["cut_3"] for number in range(3)] == [2, 0, 0]
    before = list(mirror.files.storage.list("_iceberg/shop/t1/metadata"))
    mirror.publication.publish()
    assert list(mirror.files.storage.list("_iceberg/shop/t1/metadata")) == before


def test_the_last_cut_gets_its_tag_when_the_job_ends(
    mirror: IdleMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.change(mirror.cut())
    mirror.publication.publish()
    monkeypatch.setattr(iceberg_publication, "TAGGING_SHARE", 1e-9)
    mirror.change()
    mirror.change(mirror.cut())
    mirror.change()
    mirror.publication.finish()
    assert listed_cuts(mirror) == [1, 2]
    assert [tags_of(mirror, number)["cut_2"] for number in range(3)] == [1, 0, 0]
    assert version_of(mirror, 0) == 2


def test_the_last_cut_of_a_process_that_died_gets_its_tag_while_the_source_rests(
    mirror: IdleMirror,
) -> None:
    mirror.change(mirror.cut())
    mirror.publication.publish()
    mirror.change()
    cut = mirror.cut()
    mirror.restart(cut)
    mirror.publication.publish()
    assert listed_cuts(mirror) == [1, 2]
    assert [tags_of(mirror, number)["cut_2"] for number in range(3)] == [1, 0, 0]
    # It is tagged once, by whatever process.
    before = list(mirror.files.storage.list("_iceberg"))
    mirror.publication.publish()
    mirror.restart(cut)
    mirror.publication.publish()
    assert list(mirror.files.storage.list("_iceberg")) == before


def test_the_last_cut_of_a_process_that_died_waits_no_longer_if_a_table_has_gone_on(
    mirror: IdleMirror,
) -> None:
    mirror.change()
    cut = mirror.cut()
    mirror.change()
    mirror.restart(cut)
    for _ in range(2):
        mirror.publication.publish()
    assert listed_cuts(mirror) == []
    assert not mirror.publication.queue.problems
    assert version_of(mirror, 0) == 2


def test_a_cut_at_which_a_table_has_failed_gets_its_tag_after_it(
    mirror: IdleMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_publication, "TAGGING_SHARE", 1e9)
    mirror.change()
    mirror.change(mirror.cut())
    with failing("write", "_iceberg/shop/t0/"):
        mirror.publication.publish()
    assert "shop.t0" in mirror.publication.queue.problems
    assert listed_cuts(mirror) == []
    for _ in range(2):
        mirror.publication.publish()
    assert not mirror.publication.queue.problems
    assert listed_cuts(mirror) == [1]
    assert [tags_of(mirror, number)["cut_1"] for number in range(3)] == [1, 0, 0]


def test_a_cut_waits_for_a_table_that_has_not_changed_and_has_failed(
    mirror: IdleMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_publication, "TAGGING_SHARE", 1e9)
    mirror.change()
    mirror.change(mirror.cut())
    with failing("write", "_iceberg/shop/t1/"):
        for _ in range(2):
            mirror.publication.publish()
    assert set(mirror.publication.queue.problems) == {"shop.t1"}
    assert listed_cuts(mirror) == []
    # The source changes nothing more, so there is no later cut.
    for _ in range(2):
        mirror.publication.publish()
    assert not mirror.publication.queue.problems
    assert listed_cuts(mirror) == [1]
    assert [tags_of(mirror, number)["cut_1"] for number in range(3)] == [1, 0, 0]


@pytest.mark.parametrize("failure", ["_publish_newest", "_tag_others"])
def test_a_cut_at_which_the_machine_failed_gets_its_tag_in_the_next_turn(
    mirror: IdleMirror, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    monkeypatch.setattr(iceberg_publication, "TAGGING_SHARE", 1e9)
    mirror.change()
    mirror.change(mirror.cut())
    with (
        patch.object(mirror.publication, failure, side_effect=MemoryError),
        pytest.raises(MemoryError),
    ):
        mirror.publication.publish()
    mirror.publication.publish()
    assert listed_cuts(mirror) == [1]
    assert [tags_of(mirror, number)["cut_1"] for number in range(3)] == [1, 0, 0]


def test_a_cut_that_a_table_has_passed_waits_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_publication, "TAGGING_SHARE", 1e9)
    mirror = IdleMirror(str(tmp_path), 3, limits=LIMITS._replace(snapshots=1))
    cut = mirror.cut()
    mirror.change()
    mirror.publication.publish()
    mirror.change(cut)
    mirror.publication.publish()
    assert listed_cuts(mirror) == []
    with patch.object(mirror.publication, "_tag_others") as tag_others:
        mirror.publication.publish()
    tag_others.assert_not_called()


def test_a_table_that_could_not_be_looked_at_is_looked_at_again(
    mirror: IdleMirror, tmp_path: Path
) -> None:
    unpublish(tmp_path, 1)
    mirror.restart()
    with failing("read", "_iceberg/shop/"):
        for _ in range(2):
            mirror.publication.publish()
    assert set(mirror.publication.queue.problems) == {"shop.t0", "shop.t1", "shop.t2"}
    assert version_of(mirror, 1) is None
    mirror.publication.publish()
    # Those that are published, too.
    assert not mirror.publication.queue.problems
    assert version_of(mirror, 1) == 0


def test_metadata_that_are_none_are_a_problem_of_their_table_alone(
    mirror: IdleMirror, tmp_path: Path
) -> None:
    folder = tmp_path / "_iceberg/shop/t1/metadata"
    (folder / "v1.metadata.json").write_bytes(b"[]")
    unpublish(tmp_path, 2)
    mirror.restart()
    mirror.publication.publish()
    ((name, problem),) = mirror.publication.queue.problems.items()
    assert (name, problem.facts["kind"]) == ("shop.t1", "AttributeError")
    assert version_of(mirror, 2) == 0


def test_what_a_turn_had_when_the_machine_failed_is_published_by_the_next_one(
    mirror: IdleMirror,
) -> None:
    mirror.change()
    message = "can't start new thread"
    with (
        patch.object(iceberg_publication, "ThreadPoolExecutor", side_effect=RuntimeError(message)),
        pytest.raises(RuntimeError, match=message),
    ):
        mirror.publication.publish()
    assert version_of(mirror, 0) == 0
    mirror.publication.publish()
    assert version_of(mirror, 0) == 1
    assert mirror.publication.queue.figures["shop.t0"].waiting_since is None
