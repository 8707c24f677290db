"""`binlog-connector-mirror CONFIG` in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Self

import pytest

from local_stack import java_runtime, spark_java_options
from tests.stream_jobs.told import told

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


# Short runs: the second JIT compiler and the parallel collector cost more than they give.
def spark_settings(jars: Sequence[str] = ()) -> dict[str, str]:
    options = spark_java_options(java_runtime(), jars, writes_classes=True)
    return {
        "spark.driver.extraJavaOptions": options,
        "spark.driver.memory": "768m",
        # Batches of a few rows: compiling a plan takes longer than running it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }


class Command:
    """A running `binlog-connector-mirror`."""

    def __init__(self, config: Path, java_home: Path | None = None) -> None:
        self._log = config.parent / "stderr.log"
        self._errors = self._log.open("wb")
        # By topic and partition, up to where the lines so far say that the tables are.
        self.told_offsets: dict[str, dict[str, int]] = {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stream_jobs", str(config)],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | {"JAVA_HOME": str(java_home or java_runtime().parents[1])},
            text=True,
            # Of its own, as under a supervisor: `stop` signals the JVM, too.
            start_new_session=True,
        )

    def line(self, event: str) -> dict[str, Any]:
        """The next line that tells of `event`; every line before it is whole JSON, too."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            line: dict[str, Any] = told(text)
            self.told_offsets |= line.get("end_offsets", {})
            if line["event"] == event:
                return line
        pytest.fail(f"the job ended without a line {event}")

    def applied(self, table: str) -> dict[str, Any]:
        """What the next batch that has changes of `table` says of it."""
        while True:
            # A batch may hold nothing but the end of a transaction.
            tables: dict[str, dict[str, Any]] = self.line("batch_applied")["tables"]
            if table in tables:
                return tables[table]

    def stop(self) -> None:
        """Send SIGTERM to the job and to all that it has started, as a supervisor does."""
        os.killpg(self.process.pid, signal.SIGTERM)

    def end(self) -> int:
        return self.process.wait()

    def errors(self) -> str:
        """Standard error so far."""
        return self._log.read_text(encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()


def write_config(folder: Path, bootstrap: str, prefix: str, trigger: str) -> Path:
    config = folder / "job.toml"
    settings = "\n".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in spark_settings().items())
    config.write_text(
        f"""
name = "command"
[log]
format = "json"
[kafka]
bootstrap_servers = ["{bootstrap}"]
topic_prefix = "{prefix}"
[mirror]
path = "{folder}/mirror"
checkpoint = "{folder}/checkpoint"
[trigger]
{trigger}
[spark.settings]
{settings}
""",
        encoding="utf-8",
    )
    return config
