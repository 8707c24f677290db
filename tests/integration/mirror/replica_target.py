"""A replica of the mirror of one test, in databases of its own on a shared server."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from connector.binlog.sql_text import quoted_identifier
from local_stack import connect
from stream_jobs.replica.replica import AppliedCut, Replica
from tests.integration.mirror.test_cuts import go_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint
    from stream_jobs.settings import Settings
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka


class ReplicaTarget:
    """Applies the cuts of `job` to `endpoint`, and looks at the tables there as a user does."""

    def __init__(self, job: Job, endpoint: Endpoint, name: str = "") -> None:
        self.job = job
        self.endpoint = endpoint
        # Databases of `shop` in other tests are on the same server.
        self.prefix = name or f"t{uuid.uuid4().hex[:8]}"
        self.replica = self.new()

    @property
    def database(self) -> str:
        return f"{self.prefix}_shop"

    @property
    def is_mariadb(self) -> bool:
        ((version,),) = self.sql("SELECT VERSION()")
        return "MariaDB" in version

    @property
    def url(self) -> str:
        own = self.endpoint
        return f"mysql://{own.user}@{own.host}:{own.port}/"

    def settings(self, **replica: Any) -> Settings:
        password = self.endpoint.password
        section = {"url": self.url, "password": password, "database": f"{self.prefix}_{{database}}"}
        return self.job.settings(replica=section | replica).model_copy(update={"name": self.prefix})

    def new(self, **replica: Any) -> Replica:
        """Another process."""
        return Replica(self.settings(**replica))

    def follow(self, kafka: Kafka) -> AppliedCut | None:
        """Let the mirror come to a new cut, and the replica too."""
        go_on(kafka)
        self.job.run()
        return self.replica.apply_newest()

    def sql(self, *statements: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run statements at the target; return the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with connect(self.endpoint, database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
        return rows

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        return sorted(self.sql(f"SELECT {columns} FROM `{self.database}`.`{table}`"))

    @property
    def marker(self) -> tuple[Any, ...]:
        """The cut that the target says it has, and its sequence."""
        (row,) = self.sql(f"SELECT cut, seq FROM _cdc.replica WHERE name = '{self.prefix}'")
        return row

    def close(self) -> None:
        self.replica.close()
        own = self.prefix.replace("_", "\\_")
        for (name,) in self.sql(f"SHOW DATABASES LIKE '{own}%'"):
            self.sql(f"DROP DATABASE {quoted_identifier(name)}")


def replica_target(job: Job, endpoint: Endpoint) -> Iterator[ReplicaTarget]:
    """Yield a target, and clean up."""
    found = ReplicaTarget(job, endpoint)
    yield found
    found.close()
