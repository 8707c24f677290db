"""The user's options for the demo, its folder, and the two configuration files in it.

The files are as a user would write them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from connector.foundation.settings.toml_text import toml_value
from connector.lake.demo.shop import DATABASE, READER
from local_stack.server import Endpoint
from local_stack.source import Product

PIPELINE = "demo"
TOPIC_PREFIX = "demo"
SERVER_ID = 5800


CONNECTOR = """\
# binlog-connector run {path}
name = {pipeline}

[source]
host = {host}
port = {port}
user = {user}
password_file = {password_file}
server_id = {server_id}
tables = [{tables}]
start = "snapshot"

[kafka]
bootstrap_servers = [{bootstrap}]
topic_prefix = {prefix}

[log]
format = "json"
"""

STREAM_JOB = """\
# binlog-connector-mirror {path}
name = {pipeline}

[kafka]
bootstrap_servers = [{bootstrap}]
topic_prefix = {prefix}

[log]
format = "json"

[mirror]
path = {mirror}
checkpoint = {checkpoint}
formats = {formats}

[trigger]
kind = "processingTime"
interval_seconds = 1.0

[spark.settings]
"spark.driver.memory" = "700m"
"spark.driver.extraJavaOptions" = {java_options}
"spark.local.dir" = {scratch}
"spark.sql.warehouse.dir" = {warehouse}
"""


@dataclass(frozen=True, slots=True)
class DemoDirectory:
    """The paths of one demo."""

    path: Path

    @property
    def source(self) -> Path:
        """The source's data."""
        return self.path / "source"

    @property
    def kafka(self) -> Path:
        """The broker's data."""
        return self.path / "kafka"

    @property
    def log(self) -> Path:
        """The log of a demo without a broker."""
        return self.path / "log"

    @property
    def mirror(self) -> Path:
        """The mirror."""
        return self.path / "mirror"

    @property
    def connector_config(self) -> Path:
        """The connector's configuration."""
        return self.path / "connector.toml"

    @property
    def connector_log(self) -> Path:
        """The log of the connector, from all its starts."""
        return self.path / "connector.log"

    @property
    def stream_job_config(self) -> Path:
        """The Spark job's configuration."""
        return self.path / "stream_job.toml"

    @property
    def stream_job_log(self) -> Path:
        """Spark's log."""
        return self.path / "stream_job.log"

    @property
    def stream_job_status(self) -> Path:
        """The status lines of the Spark job."""
        return self.path / "stream_job.status.jsonl"

    @property
    def verify_log(self) -> Path:
        """The log of all calls of `verify`."""
        return self.path / "verify.log"

    def mirror_of(self, table: str) -> Path:
        """Return the path of the mirror of a table of the shop."""
        return self.mirror / DATABASE / table

    def iceberg_of(self, table: str) -> Path:
        """Return the path of a table of the shop as readers of Iceberg name it."""
        return self.mirror / "_iceberg" / DATABASE / table

    def write_connector_config(self, source: Endpoint, password: str, bootstrap: str) -> None:
        """Write the connector's configuration, and the file with its password."""
        password_file = self.path / "source.password"
        password_file.touch(mode=0o600)
        password_file.write_text(password, encoding="utf-8")
        text = CONNECTOR.format(
            path=self.connector_config,
            pipeline=toml_value(PIPELINE),
            host=toml_value(source.host),
            port=source.port,
            user=toml_value(READER),
            password_file=toml_value(str(password_file)),
            server_id=SERVER_ID,
            tables=toml_value(f"{DATABASE}.*"),
            bootstrap=toml_value(bootstrap),
            prefix=toml_value(TOPIC_PREFIX),
        )
        self.connector_config.write_text(text, encoding="utf-8")

    def write_stream_job_config(
        self, bootstrap: str, java_options: str, formats: Sequence[str]
    ) -> None:
        """Write the Spark job's configuration; `java_options` are for its driver."""
        text = STREAM_JOB.format(
            path=self.stream_job_config,
            pipeline=toml_value(PIPELINE),
            bootstrap=toml_value(bootstrap),
            prefix=toml_value(TOPIC_PREFIX),
            mirror=toml_value(str(self.mirror)),
            checkpoint=toml_value(str(self.path / "checkpoint")),
            formats=toml_value(list(formats)),
            java_options=toml_value(java_options),
            scratch=toml_value(str(self.path / "spark")),
            warehouse=toml_value(str(self.path / "warehouse")),
        )
        self.stream_job_config.write_text(text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Options of `binlog-connector demo`."""

    source: Product = "mysql"
    duration_seconds: float = 40.0  # of the workload
    rate: float = 50.0  # transactions a second
    formats: tuple[str, ...] = ("delta",)  # of the mirror
    kafka: bool = True  # else a folder has the log
    keep: bool = False  # leave everything running after the verdict, until Ctrl-C
    directory: Path | None = None  # of all data and logs; a temporary one if None
    mysqld: Path | None = None  # a mysqld that the user has installed
    address: str | None = None  # [USER[:PASSWORD]@]HOST[:PORT] of a server that the user runs
    container: bool = False  # the official image of the source, by Docker
