"""Which pipeline gets which folder of a mirror, and which one is refused."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors.message import Message
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.pipeline_folder import folder_of, owner_path
from stream_jobs.run import job_state
from stream_jobs.run.job import StreamJob
from stream_jobs.run.job_state import Ownership, claimed
from stream_jobs.run.metrics import JobMetrics
from stream_jobs.run.status_lines import StatusLines
from stream_jobs.settings import Settings
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from pathlib import Path

EU, US = "eu", "us"


def settings_of(folder: Path, name: str, *, shared: bool = True, prefix: str = "") -> Settings:
    shard = {"column": "region", "value": name}
    mirror: dict[str, Any] = {"path": f"{folder}/mirror", "shared": shared}
    return Settings.model_validate(
        {
            "name": name,
            "kafka": {"bootstrap_servers": ["b:1"], "topic_prefix": prefix or name},
            "mirror": mirror,
            "tables": [{"match": ["shop.*"], "name": "shop.{table}", "shard": shard}],
        }
    )


def claim(folder: Path, name: str, **choices: Any) -> Ownership:
    return claimed(settings_of(folder, name, **choices))[1]


def refusal(folder: Path, name: str, **choices: Any) -> str:
    with pytest.raises(MirrorError) as caught:
        claim(folder, name, **choices)
    return caught.value.text


def bases(folder: Path) -> dict[str, str]:
    """By pipeline, its folder below that of the mirror."""
    return {
        name: folder_of(settings_of(folder, name)).base.removeprefix(f"{folder}/mirror")
        for name in (EU, US)
    }


def test_the_first_pipeline_has_its_files_in_the_mirror_and_others_beside_it(
    tmp_path: Path,
) -> None:
    claim(tmp_path, EU)
    # Before a job of it has run.
    assert bases(tmp_path) == {EU: "", US: "/_pipelines/us"}
    older = claim(tmp_path, US)
    assert bases(tmp_path) == {EU: "", US: "/_pipelines/us"}
    newer = claim(tmp_path, US)
    newer.check()
    with pytest.raises(MirrorError) as caught:
        older.check()
    assert caught.value.code is job_errors.TAKEN_OVER
    # Another name with the same topics would write the same shards.
    assert "belongs to the job us" in refusal(tmp_path, "other", prefix=US)
    assert "belongs to the job eu" in refusal(tmp_path, "other", prefix=EU)
    newer.check()


def test_a_pipeline_keeps_its_folder_if_the_first_one_leaves(tmp_path: Path) -> None:
    claim(tmp_path, EU)
    claim(tmp_path, US)
    (tmp_path / "mirror" / owner_path(1)).unlink()
    assert bases(tmp_path) == {EU: "", US: "/_pipelines/us"}


def test_both_must_share_the_mirror(tmp_path: Path) -> None:
    path = f"{tmp_path}/mirror"
    claim(tmp_path, EU, shared=False)
    alone = text_of(job_errors.OWNER_ALONE, path=path, owner=EU, prefix=EU)
    assert refusal(tmp_path, US) == alone
    assert not (tmp_path / "mirror" / "_pipelines").exists()
    claim(tmp_path, EU)
    # Nobody has joined yet.
    claim(tmp_path, EU, shared=False)
    claim(tmp_path, EU)
    claim(tmp_path, US)
    shared = text_of(job_errors.MIRROR_SHARED, path=path)
    for name in (EU, US, "third"):
        assert refusal(tmp_path, name, shared=False) == shared


def test_two_that_come_at_the_same_moment_find_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first claim of a mirror is that of the one that has put its file."""
    take = Ownership.claim
    came: list[str] = []

    def late(own: Ownership) -> None:
        if not came:
            came.append(EU)
            claim(tmp_path, EU)
        take(own)

    monkeypatch.setattr(Ownership, "claim", late)
    claim(tmp_path, US)
    assert bases(tmp_path) == {EU: "", US: "/_pipelines/us"}
    assert (tmp_path / "mirror" / "_pipelines" / "us" / owner_path(1)).exists()


def test_a_claim_is_taken_back_if_the_owner_stops_to_share_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim(tmp_path, EU)
    looks = iter([None])
    refuse = job_state._refuse_others

    def slow(settings: Settings, root: Any) -> Any:
        found = refuse(settings, root)
        if settings.name == US and next(looks, "") is None:
            claim(tmp_path, EU, shared=False)
        return found

    monkeypatch.setattr(job_state, "_refuse_others", slow)
    alone = text_of(job_errors.OWNER_ALONE, path=f"{tmp_path}/mirror", owner=EU, prefix=EU)
    assert refusal(tmp_path, US) == alone
    storage = LocalStorage(f"{tmp_path}/mirror")
    assert list(storage.list("_pipelines")) == []


def test_earlier_versions_read_the_owner_of_a_mirror_that_is_not_shared(tmp_path: Path) -> None:
    claim(tmp_path, EU, shared=False)
    written = json.loads((tmp_path / "mirror" / owner_path(1)).read_bytes())
    assert written.keys() == {"name", "prefix", "host", "pid", "since", "epoch"}
    claim(tmp_path, EU)
    assert json.loads((tmp_path / "mirror" / owner_path(2)).read_bytes())["shared"] is True


def fail(folder: Path, name: str, **choices: Any) -> None:
    """Let a job fail before it has claimed anything."""
    settings = settings_of(folder, name, **choices)
    metrics = JobMetrics(name)
    problem = Message(job_errors.SPARK_FAILED, {"kind": "OSError", "said": "no Java"})
    StreamJob(settings, StatusLines(io.StringIO()), metrics).fail(problem)
    assert metrics.failure is not None
    assert metrics.failure.error == problem.text


def runs(folder: Path) -> list[str]:
    """The folders that know a run."""
    found = (folder / "mirror").rglob("_cdc/run/newest.json")
    return sorted(str(path.parents[2].relative_to(folder / "mirror")) for path in found)


def test_a_job_that_fails_before_it_joins_does_not_lock_the_owner_out(tmp_path: Path) -> None:
    fail(tmp_path, US)
    assert runs(tmp_path) == []
    claim(tmp_path, EU, shared=False)
    fail(tmp_path, US)
    assert runs(tmp_path) == []
    claim(tmp_path, EU, shared=False)
    # Another job with these topics has no say, either.
    fail(tmp_path, "other", prefix=EU)
    assert runs(tmp_path) == []
    fail(tmp_path, EU, shared=False)
    assert runs(tmp_path) == ["."]
    claim(tmp_path, EU)
    claim(tmp_path, US)
    fail(tmp_path, US)
    assert runs(tmp_path) == [".", "_pipelines/us"]


def test_only_an_owner_is_a_guest(tmp_path: Path) -> None:
    """Earlier versions wrote why a job had failed that was refused later."""
    claim(tmp_path, EU, shared=False)
    run = tmp_path / "mirror" / "_pipelines" / "us" / "_cdc" / "run" / "newest.json"
    run.parent.mkdir(parents=True)
    run.write_bytes(b"{}")
    claim(tmp_path, EU, shared=False)


def test_a_claim_that_is_taken_back_leaves_the_owner_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next new pipeline would get the folder of the first one."""
    claim(tmp_path, EU)
    take = Ownership.claim

    def late(own: Ownership) -> None:
        if not own.owner.shared:
            claim(tmp_path, US)
        take(own)

    monkeypatch.setattr(Ownership, "claim", late)
    shared = text_of(job_errors.MIRROR_SHARED, path=f"{tmp_path}/mirror")
    assert refusal(tmp_path, EU, shared=False) == shared
    assert folder_of(settings_of(tmp_path, "new")).base == f"{tmp_path}/mirror/_pipelines/new"
    assert bases(tmp_path) == {EU: "", US: "/_pipelines/us"}
    claim(tmp_path, EU)
    # Those before the newest one are gone.
    assert len(list((tmp_path / "mirror" / "_cdc" / "owner").iterdir())) == 1
