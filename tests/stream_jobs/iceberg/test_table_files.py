"""Iceberg tables are named by what their readers know of a storage."""

from __future__ import annotations

import pytest

from stream_jobs.iceberg.table_files import reader_uri


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
