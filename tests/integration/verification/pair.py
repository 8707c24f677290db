"""A pipeline with its mirror, the command that compares them, and damage to the mirror."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from stream_jobs.delta.parquet_file import rows_at, write_file
from stream_jobs.delta.storages import storage_of
from stream_jobs.delta.table import DeltaTable, TableCommit
from tests import forked_command
from tests.integration.harness import wait_until_settled
from tests.integration.mirror.conftest import Job
from tests.stream_jobs.topics import Kafka
from verification.mirror_side import live_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

Row = dict[str, Any]


def toml_value(value: Any) -> str:
    """Return a value of a setting as TOML has it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_value(part)}" for key, part in value.items()) + "}"
    return json.dumps(value)


@dataclass
class Pair:
    """A source, its mirror, and the running connector between the two."""

    stream: Stream
    job: Job
    connector: ConnectorProcess
    tables: list[dict[str, Any]]
    # mirror.zero_dates of the job.
    zero_dates: str = field(default="error", init=False)
    # iceberg.every_seconds of the job.
    iceberg_seconds: float = field(default=10.0, init=False)

    @property
    def job_config(self) -> Path:
        """The configuration of the Spark job."""
        path = self.stream.directory / "stream_job.toml"
        lines = ["name = 'test'", "[kafka]"]
        lines.append(f"bootstrap_servers = [{self.stream.broker.bootstrap!r}]")
        lines.append(f"topic_prefix = '{self.stream.prefix}'")
        lines += ["[mirror]", f"path = '{self.stream.directory / 'mirror'}'"]
        lines.append("hash_salt = 'a salt of sixteen'")
        lines.append(f"zero_dates = '{self.zero_dates}'")
        lines += ["[iceberg]", f"every_seconds = {self.iceberg_seconds}"]
        for table in self.tables:
            lines.append("[[tables]]")
            lines += [f"{key} = {toml_value(value)}" for key, value in table.items()]
        path.write_text("\n".join(lines) + "\n")
        return path

    def catch_up(self, count: int) -> None:
        """Bring the first `count` changes into the mirror."""
        self.stream.wait_for_changes(count, self.connector)
        wait_until_settled(self.stream.broker, self.stream.prefix)
        self.apply()

    def apply(self) -> None:
        """Bring what is in Kafka into the mirror."""
        mirror = {"hash_salt": "a salt of sixteen", "zero_dates": self.zero_dates}
        lines = self.job.run(tables=self.tables, mirror=mirror)
        assert self.job.exit_code == 0, lines

    @contextmanager
    def applying(self) -> Iterator[None]:
        """Bring everything into the mirror all the time."""
        ended = threading.Event()

        def apply() -> None:
            while not ended.is_set():
                self.apply()
                ended.wait(0.25)

        thread = threading.Thread(target=apply)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def verify(self, *arguments: str) -> CompletedProcess[str]:
        """Run the command."""
        config, mirror = str(self.connector.config), str(self.job_config)
        return self.run("verify", config, "--mirror", mirror, *arguments)

    def run(self, *arguments: str) -> CompletedProcess[str]:
        """Run any command."""
        return forked_command.run(*arguments, seconds=200)

    def report(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Run the command; return its exit code and its report."""
        done = self.verify("--json", *arguments)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def differences(self, *arguments: str) -> list[dict[str, Any]]:
        """Run the command, which must find differences in one table; return them in order."""
        code, report = self.report(*arguments)
        (table,) = report["tables"]
        assert (code, table["verdict"]) == (4, "different"), table
        return sorted(table["differences"], key=lambda each: str(each["key"]))

    def damage(
        self, table: str, change: Callable[[list[Row]], list[Row]], database: str = ""
    ) -> None:
        """Replace the rows of a mirror by those that `change` makes of them, behind its back."""
        delta = self._delta(table, database)
        storage = delta.storage
        columns = delta.snapshot.columns
        rows = self.rows(table, database)
        schema = pa.schema([(column.name, column.type) for column in columns])
        data = pa.Table.from_pylist(change(rows), schema)
        new = [write_file(storage, delta.path, columns, data)] if data.num_rows else []
        old = tuple(delta.snapshot.files.values())
        delta.commit(TableCommit(new=new, removed=old), "DAMAGE")

    def drop_column(self, table: str, name: str) -> None:
        """Take a column away from a mirror, behind its back."""
        delta = self._delta(table, "")
        known = delta.snapshot.metadata
        columns = tuple(column for column in known.columns if column.name != name)
        delta.commit(TableCommit(metadata=replace(known, columns=columns)), "DAMAGE")

    def rows(self, table: str, database: str = "") -> list[Row]:
        """Return the rows of a mirror."""
        delta = self._delta(table, database)
        columns, rows = delta.snapshot.columns, []
        for file, positions in live_positions(delta.storage, delta.path, delta.snapshot, ["id"]):
            rows += rows_at(delta.storage, delta.path, file, columns, positions).to_pylist()
        return rows

    def kinds(self, table: str) -> dict[str, pa.DataType]:
        """Return the types of the columns of a mirror."""
        return {column.name: column.type for column in self._delta(table).snapshot.columns}

    def version(self, table: str, database: str = "") -> int:
        """Return the newest version of a mirror."""
        return self._delta(table, database).snapshot.version

    def has_file(self, table: str, name: str) -> bool:
        """Return whether the newest version of a mirror has a data file."""
        return name in self._delta(table).snapshot.files

    def _delta(self, table: str, database: str = "") -> DeltaTable:
        storage = storage_of(str(self.stream.directory / "mirror"))
        delta = DeltaTable.open(storage, f"{database or self.stream.database}/{table}")
        assert delta is not None
        return delta


@contextmanager
def pair_of(
    stream: Stream, tables: list[dict[str, Any]] | None = None, **changed: object
) -> Iterator[Pair]:
    """Run a connector with `changed` settings, and a mirror with the choices `tables`."""
    kafka = Kafka(stream.broker.bootstrap, stream.prefix)
    try:
        with stream.connector(**changed) as connector:
            yield Pair(stream, Job(kafka, stream.directory), connector, tables or [])
    finally:
        kafka.close()


def near(value: Any, kind: pa.DataType) -> Any:
    """Return the nearest other value."""
    types = pa.types
    if types.is_boolean(kind):
        return not value
    if types.is_float32(kind):
        return float(np.nextafter(np.float32(value), np.float32(np.inf)))
    if types.is_float64(kind):
        return float(np.nextafter(value, np.inf))
    if types.is_decimal(kind):
        return value + type(value)(1).scaleb(-kind.scale)
    if types.is_string(kind):
        return value[:-1] + chr(ord(value[-1]) ^ 1) if value else None
    if types.is_binary(kind):
        return value[:-1] + bytes([value[-1] ^ 1]) if value else None
    if types.is_struct(kind):
        return value | {"srid": value["srid"] + 1}
    if types.is_list(kind):
        return [*value[:-1], near(value[-1], kind.value_type)]
    smallest = pa.scalar(value, kind).cast(pa.int32() if types.is_date32(kind) else pa.int64())
    return pa.scalar(smallest.as_py() + 1).cast(smallest.type).cast(kind).as_py()
