"""The typed settings of `binlog-connector run`; `files` reads them.

Every key can be given in the environment as `BINLOG_CONNECTOR_<SECTION>__<KEY>`, for example
`BINLOG_CONNECTOR_SOURCE__PASSWORD`. An unknown key is an error. `configs/connector.toml` lists
every key with its default and when to change it; `binlog-connector config` prints that file.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from connector.errors import settings as codes
from connector.settings.files import FileSettings, UnfitValueError
from connector.settings.kafka_login import KafkaLogin, read_secret
from connector.settings.values import (
    ListenAddress,
    PipelineName,
    Port,
    ServerAddress,
    StartSetting,
    TablePattern,
    TopicPrefix,
)


class Section(BaseModel):
    """Base of every section: unknown keys are errors, and the values are constant."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TlsSettings(Section):
    """How the connection to the source is encrypted."""

    mode: Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"] = "preferred"
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class SourceSettings(Section):
    """The server whose changes are read."""

    host: str = "127.0.0.1"
    port: Port = 3306
    # Other servers of the same topology, which can replace the first one.
    failover_hosts: list[ServerAddress] = []
    user: str = "cdc"
    password: SecretStr = SecretStr("")
    password_file: Path | None = None
    # Unique among all replicas of the source: if two have the same, the server disconnects the
    # older.
    server_id: Annotated[int, Field(ge=1, le=2**32 - 1)]
    tables: list[TablePattern] = ["*.*"]
    exclude_tables: list[TablePattern] = []
    start: StartSetting = "snapshot"
    tls: TlsSettings = TlsSettings()
    connect_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 10.0
    # After this silence, the peer counts as dead; heartbeats come three times as often.
    read_timeout_seconds: Annotated[float, Field(ge=1, le=3600)] = 30.0

    @model_validator(mode="after")
    def _one_password(self) -> SourceSettings:
        if self.password_file is not None and self.password.get_secret_value():
            raise UnfitValueError(codes.TWO_PASSWORDS)
        return self

    def read_password(self) -> str:
        """Return the password, from the file if one is configured.

        Raises ConfigError if the file cannot be read.
        """
        if self.password_file is None:
            return self.password.get_secret_value()
        return read_secret("source.password_file", self.password_file)


class KafkaSettings(KafkaLogin):
    """The brokers, and the topics of the pipeline."""

    bootstrap_servers: Annotated[list[ServerAddress], Field(min_length=1)]
    topic_prefix: TopicPrefix
    partitions: Annotated[int, Field(ge=1, le=10000)] = 3
    replication_factor: Annotated[int, Field(ge=1, le=32767)] = 1
    retention_hours: Annotated[int, Field(ge=-1)] = 168
    compression: Literal["lz4", "zstd", "gzip", "none"] = "lz4"
    record_bytes_max: Annotated[int, Field(ge=1024, le=2**31 - 1)] = 16 * 1024 * 1024
    tombstones: bool = True
    request_timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    transaction_timeout_seconds: Annotated[float, Field(ge=1)] = 900.0


class DeliverySettings(Section):
    """When a batch of source transactions becomes one Kafka transaction."""

    commit_interval_ms: Annotated[int, Field(ge=1, le=60_000)] = 100
    batch_bytes_max: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    in_flight_bytes_max: Annotated[int, Field(ge=65536)] = 32 * 1024 * 1024
    # Records of BEGIN and END in `<prefix>.transaction`.
    transaction_records: bool = False
    # A record in `<prefix>.heartbeat` this often, also while the source is idle; 0 writes none.
    heartbeat_interval_seconds: Annotated[float, Field(ge=0)] = 0.0


class EnvelopeSettings(Section):
    """How rows look in Kafka."""

    profile: Literal["exact", "debezium"] = "exact"
    # As Debezium's option decimal.handling.mode; for the profile `debezium`.
    decimals: Literal["precise", "string", "double"] = "precise"

    @model_validator(mode="after")
    def _fitting(self) -> EnvelopeSettings:
        if self.profile == "exact" and self.decimals != "precise":
            raise UnfitValueError(codes.DECIMALS_OF_DEBEZIUM, decimals=self.decimals)
        return self


class SnapshotSettings(Section):
    """How tables are copied while the stream goes on."""

    # Connections that read; each has one chunk at a time.
    connections: Annotated[int, Field(ge=1, le=32)] = 2
    chunk_rows: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    # A chunk is made smaller until its rows fit in.
    chunk_bytes_max: Annotated[int, Field(ge=65536)] = 8 * 1024 * 1024
    # No SELECT runs longer: a long one keeps the server from purging old row versions.
    statement_seconds_max: Annotated[float, Field(gt=0, le=3600)] = 30.0
    # Reading pauses while the source has more running threads; 0 does not check.
    threads_running_max: Annotated[int, Field(ge=0)] = 0
    # Reading pauses while the first value of this query's result is above 0.
    pause_query: str | None = None


class QuarantineSettings(Section):
    """What happens to a change that cannot be published."""

    policy: Literal["stop", "fence-key", "fence-table"] = "stop"


class SchemaSettings(Section):
    """What happens after a change of a table whose effect on rows is not in the log."""

    on_rewrite: Literal["copy", "fence", "stop"] = "copy"
    # The same for rows that foreign keys change.
    on_cascade: Literal["copy", "warn"] = "copy"
    # Between two copies of a table because of cascades; see `snapshot.cascaded_copies`.
    cascade_seconds: Annotated[float, Field(ge=0)] = 10.0


class MetricsSettings(Section):
    """Figures for Prometheus."""

    listen: ListenAddress | None = None


class VerifySettings(Section):
    """What `verify --forever` may cost, and what it does."""

    # Rows of the source; 0 does not limit them.
    rows_per_second: Annotated[int, Field(ge=0)] = 1000
    # Between the end of a round over all tables and the beginning of the next one.
    pause_seconds: Annotated[float, Field(ge=0)] = 60.0
    repair: bool = False
    listen: ListenAddress | None = None


class RetrySettings(Section):
    """How long to wait after a transient error."""

    initial_seconds: Annotated[float, Field(gt=0)] = 0.5
    max_seconds: Annotated[float, Field(gt=0)] = 30.0
    # 0 retries without end.
    attempts_max: Annotated[int, Field(ge=0)] = 0


class LogSettings(Section):
    """What is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


# Of its base class, pydantic says this about a deprecated method that nothing calls.
warnings.filterwarnings("ignore", 'Field name "schema" in "Settings" shadows', UserWarning)


class Settings(FileSettings):
    """Everything that `run` and `check` need to know."""

    model_config = SettingsConfigDict(env_prefix="BINLOG_CONNECTOR_")

    reference: ClassVar[str] = "binlog-connector config"
    shares_prefix: ClassVar[bool] = True

    # Names the pipeline: the transactional.id and the key of its progress record.
    name: PipelineName
    source: SourceSettings
    kafka: KafkaSettings
    envelope: EnvelopeSettings = EnvelopeSettings()
    delivery: DeliverySettings = DeliverySettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    quarantine: QuarantineSettings = QuarantineSettings()
    schema: SchemaSettings = SchemaSettings()  # type: ignore[assignment]  # as above
    metrics: MetricsSettings = MetricsSettings()
    verify: VerifySettings = VerifySettings()
    retry: RetrySettings = RetrySettings()
    log: LogSettings = LogSettings()
