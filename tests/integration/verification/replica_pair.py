"""A pipeline with its mirror and a replica, and the command that compares source and replica."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.integration.mirror.conftest import Job
from tests.integration.mirror.replica_target import ReplicaTarget
from tests.integration.verification.pair import Pair
from tests.stream_jobs.topics import Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from local_stack import Endpoint
    from tests.integration.database_stream import Stream

_MIRROR = {"hash_salt": "a salt of sixteen", "zero_dates": "null"}


@dataclass
class ReplicaPair(Pair):
    """A source, its replica, and what is between the two."""

    target: ReplicaTarget
    zero_dates: str = field(default="null", init=False)

    @property
    def job_config(self) -> Path:
        """The configuration of Spark job and replica."""
        path = super().job_config
        target = self.target
        text = path.read_text().replace("name = 'test'", f"name = '{target.prefix}'", 1)
        text += f"[replica]\nurl = '{target.url}'\npassword = '{target.endpoint.password}'\n"
        path.touch(mode=0o600)
        path.write_text(text + f"database = '{target.prefix}_{{database}}'\n")
        return path

    @property
    def database(self) -> str:
        """The database at the target."""
        return f"{self.target.prefix}_{self.stream.database}"

    def apply(self) -> None:
        """Bring what is in Kafka into the mirror, and its newest cut to the target."""
        self.mirror()
        self.target.replica.apply_newest()

    def mirror(self) -> None:
        """Bring what is in Kafka into the mirror."""
        lines = self.job.run(tables=self.tables, mirror=_MIRROR)
        assert self.job.exit_code == 0, lines

    def verify(self, *arguments: str) -> CompletedProcess[str]:
        """Run the command."""
        config, job = str(self.connector.config), str(self.job_config)
        return self.run("verify", config, "--replica", job, *arguments)

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements at the target, behind the back of the replica."""
        return self.target.sql("SET time_zone = '+00:00'", *statements, database=self.database)


@contextmanager
def replica_pair_of(
    stream: Stream,
    endpoint: Endpoint,
    tables: list[dict[str, Any]] | None = None,
    **changed: object,
) -> Iterator[ReplicaPair]:
    """Run a connector with `changed` settings, a mirror, and a replica at `endpoint`.

    `tables` are the choices of the mirror.
    """
    kafka = Kafka(stream.broker.bootstrap, stream.prefix)
    job = Job(kafka, stream.directory)
    target = ReplicaTarget(job, endpoint)
    try:
        with stream.connector(**changed) as connector:
            yield ReplicaPair(stream, job, connector, tables or [], target)
    finally:
        target.close()
        kafka.close()
