"""Iceberg tables are named by what their readers know of a storage, and keep few files."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.iceberg.cut_tags import ALONE, CutTags
from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/data/a b", "file:///data/a b"),
        ("file:///data/a%20b/", "file:///data/a b"),
        ("s3://lake/shop/", "s3://lake/shop"),
        ("s3a://lake", "s3://lake"),
        ("gs://lake/shop/", "gs://lake/shop"),
        ("abfss://c@a.dfs.core.windows.net/shop/", "abfss://c@a.dfs.core.windows.net/shop"),
        ("az://c/shop", "abfss://c@someone.dfs.core.windows.net/shop"),
        ("webhdfs://one:9870,two:9870/lake/t", "hdfs://one/lake/t"),
        ("swebhdfs://one/lake", "hdfs://one/lake"),
    ],
)
def test_the_root_of_a_mirror_is_a_uri(
    monkeypatch: pytest.MonkeyPatch, path: str, uri: str
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "someone")
    assert reader_uri(path) == uri


@pytest.mark.parametrize("prefix", [None, "eu"])
def test_files_that_nothing_names_go_if_each_process_publishes_little(
    tmp_path: Path, prefix: str | None
) -> None:
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t")
    files = TableFiles(storage, reader_uri(str(tmp_path)), is_shared=prefix is not None)
    tags = ALONE if prefix is None else CutTags(prefix)
    for number in range(130):
        publisher = TablePublisher(files, "shop/t", 4, tags)
        sample.append([number])
        publisher.publish(sample.table.snapshot, Occasion(1_800_000_000_000 + number))
        for file in tmp_path.glob("_iceberg/shop/t/metadata/*"):
            os.utime(file, (1, 1))
    kept = Counter(file.suffix for file in tmp_path.glob("_iceberg/shop/t/metadata/*"))
    # Ten, and those from the change 120 on.
    assert kept[".json"] <= 21
    assert kept[".avro"] <= 60
