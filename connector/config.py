"""Typed settings of `binlog-connector run`, which `settings_file` reads.

Every key can be given in the environment as `BINLOG_CONNECTOR_<SECTION>__<KEY>`, for example
`BINLOG_CONNECTOR_SOURCE__PASSWORD`. An unknown key is an error. `configs/connector.toml` lists
every key with its default and when to change it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from connector.errors import ConfigError

ENVIRONMENT_PREFIX = "BINLOG_CONNECTOR_"
NESTED = "__"
_PORT_MAX = 65535


def _with_possible_port(address: str) -> str:
    _, colon, port = address.rpartition(":")
    if colon and port.isdigit() and not 1 <= int(port) <= _PORT_MAX:
        reason = f"a port is a number from 1 to {_PORT_MAX}"
        raise ValueError(reason)
    return address


Port = Annotated[int, Field(ge=1, le=65535)]
TablePattern = Annotated[str, Field(pattern=r"^[^.]+\..+$")]
# HOST or HOST:PORT; an IPv6 address in brackets.
ServerAddress = Annotated[
    str,
    Field(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^\[\]:\s]+)(:[0-9]{1,5})?$"),
    AfterValidator(_with_possible_port),
]
# HOST:PORT to listen on.
ListenAddress = Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^\[\]:\s]+):[0-9]{1,5}$")]

# What a start point in the configuration may look like; see `configs/connector.toml`.
START_PATTERN = (
    r"^(snapshot|earliest|latest|gtid:.*|position:[^:]+\.[0-9]+:[0-9]+"
    r"|timestamp:[0-9]{4}-[0-9]{2}-[0-9]{2}.+)$"
)


class Section(BaseModel):
    """Base of every section: unknown keys are errors, and nothing changes after the load."""

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
    # Servers of the same topology that may stand in for the first one.
    failover_hosts: list[ServerAddress] = []
    user: str = "cdc"
    password: SecretStr = SecretStr("")
    password_file: Path | None = None
    # Unique among all replicas of the source: of two, the server throws the older one out.
    server_id: Annotated[int, Field(ge=1, le=2**32 - 1)]
    tables: list[TablePattern] = ["*.*"]
    exclude_tables: list[TablePattern] = []
    start: Annotated[str, Field(pattern=START_PATTERN)] = "snapshot"
    tls: TlsSettings = TlsSettings()
    connect_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 10.0
    # Silence longer than this is a dead peer; heartbeats come three times as often.
    read_timeout_seconds: Annotated[float, Field(ge=1, le=3600)] = 30.0

    @model_validator(mode="after")
    def _one_password(self) -> SourceSettings:
        if self.password_file is not None and self.password.get_secret_value():
            reason = "give either password or password_file, not both"
            raise ValueError(reason)
        return self

    def read_password(self) -> str:
        """Return the password, from the file where one is configured.

        Raises ConfigError when the file cannot be read.
        """
        if self.password_file is None:
            return self.password.get_secret_value()
        try:
            return self.password_file.read_text(encoding="utf-8").rstrip("\r\n")
        except OSError as error:
            reason = (
                f"source.password_file {self.password_file}: {error.strerror}: name a file that "
                "this user may read"
            )
            raise ConfigError(reason) from error


class KafkaSettings(Section):
    """The brokers and the topics that are written."""

    bootstrap_servers: Annotated[list[ServerAddress], Field(min_length=1)]
    topic_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    partitions: Annotated[int, Field(ge=1, le=10000)] = 3
    replication_factor: Annotated[int, Field(ge=1, le=32767)] = 1
    retention_hours: Annotated[int, Field(ge=-1)] = 168
    compression: Literal["lz4", "zstd", "gzip", "none"] = "lz4"
    record_bytes_max: Annotated[int, Field(ge=1024, le=2**31 - 1)] = 16 * 1024 * 1024
    tombstones: bool = True
    request_timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    transaction_timeout_seconds: Annotated[float, Field(ge=1)] = 900.0
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_ca: Path | None = None
    ssl_certificate: Path | None = None
    ssl_key: Path | None = None

    @model_validator(mode="after")
    def _whole_login(self) -> KafkaSettings:
        if self.security_protocol.startswith("SASL") and not (
            self.sasl_mechanism and self.sasl_username and self.sasl_password is not None
        ):
            reason = (
                f"security_protocol {self.security_protocol} takes sasl_mechanism, sasl_username "
                "and sasl_password"
            )
            raise ValueError(reason)
        return self


class DeliverySettings(Section):
    """When a batch of source transactions becomes one Kafka transaction."""

    commit_interval_ms: Annotated[int, Field(ge=1, le=60_000)] = 100
    batch_bytes_max: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    in_flight_bytes_max: Annotated[int, Field(ge=65536)] = 32 * 1024 * 1024
    # Records of BEGIN and END in `<prefix>.transaction`.
    transaction_records: bool = False
    # A record in `<prefix>.heartbeat` this often, also while the source is idle; 0 writes none.
    heartbeat_interval_seconds: Annotated[float, Field(ge=0)] = 0.0


class SnapshotSettings(Section):
    """How tables are copied while the stream goes on."""

    # Connections that read; each has one chunk at a time.
    connections: Annotated[int, Field(ge=1, le=32)] = 2
    chunk_rows: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    # A chunk is made smaller until its rows fit in.
    chunk_bytes_max: Annotated[int, Field(ge=65536)] = 8 * 1024 * 1024
    # No SELECT runs longer: a long one keeps the server from purging old row versions.
    statement_seconds_max: Annotated[float, Field(gt=0, le=3600)] = 30.0
    # Reading pauses while the source has more running threads; 0 does not look.
    threads_running_max: Annotated[int, Field(ge=0)] = 0
    # While the first value that this query returns is above 0, reading pauses.
    pause_query: str | None = None


class QuarantineSettings(Section):
    """What becomes of a change that cannot be carried."""

    policy: Literal["stop", "fence-key", "fence-table"] = "stop"


class MetricsSettings(Section):
    """Figures for Prometheus."""

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


class Settings(BaseSettings):
    """Everything that `run` and `check` need to know."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter=NESTED,
    )

    # Names the pipeline: the transactional.id and the key of its progress record.
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    source: SourceSettings
    kafka: KafkaSettings
    delivery: DeliverySettings = DeliverySettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    quarantine: QuarantineSettings = QuarantineSettings()
    metrics: MetricsSettings = MetricsSettings()
    retry: RetrySettings = RetrySettings()
    log: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the file."""
        del settings_cls, dotenv_settings, file_secret_settings
        return env_settings, init_settings
