"""What belongs to no table of a mirror that pipelines share, and what to those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_jobs.pipeline_folder import Owner, pipeline_folder
from stream_jobs.run.job_state import Ownership
from stream_jobs.settings import Settings
from tests.foundation.errors.texts import text_of
from tests.stream_jobs.tables.test_shard_commits import commit, opened
from verification import verify_errors
from verification.shard_check import surplus_shards

if TYPE_CHECKING:
    from pathlib import Path


def settings_of(folder: Path, prefix: str, *, shared: bool = True) -> Settings:
    shard = {"column": "shard", "pattern": r"shop_(?P<shard>\w+)\..+"}
    return Settings.model_validate(
        {
            "name": prefix,
            "kafka": {"bootstrap_servers": ["b:1"], "topic_prefix": prefix},
            "mirror": {"path": str(folder), "shared": shared},
            "tables": [{"match": ["shop_*.*"], "name": "shop.{table}", "shard": shard}],
        }
    )


def found(
    folder: Path, prefix: str, *values: str, shared: bool = True
) -> list[tuple[str, dict[str, Any] | str]]:
    """Return what is wrong or not compared if the source has the shards `values`."""
    names = [(f"shop_{value}", "orders") for value in values]
    results = surplus_shards(settings_of(folder, prefix, shared=shared), names)
    return [
        (each.verdict, each.error.text if each.error is not None else dict(each.differences[0].key))
        for each in results
    ]


def not_compared(rows: int, *shards: str) -> tuple[str, str]:
    facts = {"table": "shop.orders", "shards": list(shards), "rows": rows}
    return "not compared", text_of(verify_errors.OTHER_PIPELINES, **facts)


def test_rows_of_other_pipelines_are_counted_and_not_surplus(tmp_path: Path) -> None:
    for prefix in ("a", "b"):
        folder = pipeline_folder(str(tmp_path), prefix)
        owner = Owner(prefix, prefix, "host", 1, "2026-01-01T00:00:00+00:00", prefix, shared=True)
        Ownership(*folder, owner).claim()
    for value, prefix, rows in (("1", "", 1), ("2", "a", 2), ("3", "b", 3), ("4", "b", 4)):
        commit(opened(tmp_path, value, prefix), 1, *range(rows))
    # The first pipeline has the shard that names none.
    assert found(tmp_path, "a", "1", "2") == [not_compared(7, "3", "4")]
    assert found(tmp_path, "b", "3", "4") == [not_compared(3, "1", "2")]
    assert found(tmp_path, "b", "4") == [
        not_compared(3, "1", "2"),
        ("different", {"shard": "3", "rows": 3}),
    ]
    # Nobody else has shards in it.
    assert found(tmp_path, "a", "1", "2", "3", "4", shared=False) == []
