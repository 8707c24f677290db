"""Spark with Iceberg as a reader of mirrors, in an environment of its own: `make all-readers`.

Iceberg has no runtime for the Spark that the job uses.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa

from local_stack.cache import Cache
from local_stack.java import java_runtime
from local_stack.package_repositories import Jar, fetch_jars
from tests.stream_jobs.iceberg import spark_program
from tests.stream_jobs.iceberg.readers import Rows, sorted_rows

if TYPE_CHECKING:
    from types import TracebackType

SPARK: Final = "4.1.4"
ICEBERG: Final = "1.12.0"
_JAR: Final = Jar(
    "org.apache.iceberg",
    "iceberg-spark-runtime-4.1_2.13",
    ICEBERG,
    48309426,
    "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
)


class SparkIceberg:
    """A session of Spark in another process."""

    def __init__(self, python: str) -> None:
        """Start it with `python`, whose environment has pyspark and pyarrow."""
        # Not resolved: a link would lead out of its environment.
        python = str(Path(python).absolute())
        (jar,) = fetch_jars("Iceberg for Spark", [_JAR], Cache.of_environment())
        self._folder = tempfile.TemporaryDirectory(prefix="spark-iceberg-")
        self._process = subprocess.Popen(
            [python, spark_program.__file__, jar],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._folder.name,
            env=os.environ
            | {"JAVA_HOME": str(java_runtime().parents[1]), "PYSPARK_PYTHON": python},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()

    def rows(self, folder: Path, snapshot: int | None = None) -> Rows:
        """Return the rows of a table. Raises RuntimeError if Spark does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        file = Path(self._folder.name) / "rows.arrow"
        request = {"folder": str(folder), "snapshot": snapshot, "file": str(file)}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        error = json.loads(answer) if answer else "Spark has ended"
        if error is not None:
            raise RuntimeError(error)
        with pa.memory_map(str(file)) as source:
            return sorted_rows(pa.ipc.open_stream(source).read_all())
