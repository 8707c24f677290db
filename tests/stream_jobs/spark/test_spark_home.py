"""The folder that Spark is started from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from stream_jobs.run.spark_session import spark_home

if TYPE_CHECKING:
    import pytest


def test_spark_is_started_from_a_folder_without_an_archive_of_pyspark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    folder = tmp_path / "own" / "spark"
    # The second time, the links are there.
    for _ in range(2):
        with spark_home(folder):
            home = Path(os.environ["SPARK_HOME"])
            assert home.parent == folder
            assert (home / "bin" / "spark-submit").is_file()
            assert (home / "jars").resolve() == (Path(pyspark.__file__).parent / "jars").resolve()
            assert not (home / "python").exists()
        assert "SPARK_HOME" not in os.environ


def test_a_spark_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with spark_home(tmp_path):
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert not list(tmp_path.iterdir())
