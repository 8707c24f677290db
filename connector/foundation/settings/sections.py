"""The typed settings of `binlog-connector run`; `file_settings.py` reads them.

Every key can be given in the environment as `BINLOG_CONNECTOR_<SECTION>__<KEY>`, for example
`BINLOG_CONNECTOR_SOURCE__PASSWORD`. An unknown key is an error. `configs/connector.toml` lists
every key with its default and when to change it; `binlog-connector config` prints that file.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from connector.foundation.contract import own_topics
from connector.foundation.errors import ConfigError, SourceUnavailable
from connector.foundation.record_formats import REGISTERED, SubjectStrategy
from connector.foundation.settings import credentials, settings_errors, values
from connector.foundation.settings.envelope import EnvelopeSettings, TableNames, Topic
from connector.foundation.settings.file_settings import Alternatives, FileSettings, UnfitValueError
from connector.foundation.settings.log_folder import require_fit

# A token that cannot be guessed.
_TOKEN_CHARACTERS_MIN = 16


class Section(BaseModel):
    """Base of every section: unknown keys are errors, and the values are constant."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TlsSettings(Section):
    """How the connection to the source is encrypted."""

    mode: Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"] = "preferred"
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    # Without TLS: the RSA key with which a password is encrypted, and whether to take the server's.
    server_public_key: Path | None = None
    get_server_public_key: bool = False


class MaskSettings(Section):
    """What records have instead of the text in some columns; exactly one of three."""

    columns: Annotated[list[values.ColumnPattern], Field(min_length=1)]
    # column.mask.with.length.chars, column.truncate.to.length.chars, column.mask.hash(.v2)
    chars: Annotated[int, Field(ge=0, le=10_000)] | None = None
    truncate: Annotated[int, Field(ge=0)] | None = None
    hash: (
        Literal["MD5", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512", "SHA3-256", "SHA3-512"]
        | None
    ) = None
    salt: SecretStr = SecretStr("")
    # 1 hashes Java's serialized string, as Debezium without `.v2`.
    version: Literal[1, 2] = 2

    @model_validator(mode="after")
    def _one_change(self) -> MaskSettings:
        if sum(each is not None for each in (self.chars, self.truncate, self.hash)) != 1:
            raise UnfitValueError(settings_errors.ONE_MASK, columns=self.columns)
        return self


class SourceSettings(Section, TableNames):
    """The server whose changes are read."""

    alternatives: ClassVar[Alternatives] = (credentials.PASSWORDS,)

    host: str = "127.0.0.1"
    port: values.Port = 3306
    # Other servers of the same topology, which can replace the first one.
    failover_hosts: list[values.ServerAddress] = []
    user: str = "cdc"
    password: SecretStr = SecretStr("")
    password_file: Path | None = None
    # Called for each login, it writes the password; {host}, {port} and {user} stand for those.
    password_command: list[str] = []
    # Unique among all replicas of the source: if two have the same, the server disconnects the
    # older.
    server_id: Annotated[int, Field(ge=1, le=2**32 - 1)]
    tables: list[values.TablePattern] = ["*.*"]
    exclude_tables: list[values.TablePattern] = []
    # Of the tables that `columns` names, records have these columns and the key alone.
    columns: list[values.ColumnPattern] = []
    exclude_columns: list[values.ColumnPattern] = []
    masks: list[MaskSettings] = []
    start: values.StartSetting = "snapshot"
    # Executed with each heartbeat (delivery.heartbeat_interval_seconds); "" executes nothing.
    heartbeat_statement: str = ""
    tls: TlsSettings = TlsSettings()
    connect_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 10.0
    # After this silence, the peer counts as dead; at least three heartbeats come in this time.
    read_timeout_seconds: Annotated[float, Field(ge=1, le=3600)] = 30.0

    @model_validator(mode="after")
    def _one_password(self) -> SourceSettings:
        given = self.password.get_secret_value(), self.password_file, self.password_command
        if sum(each is not None and bool(each) for each in given) > 1:
            raise UnfitValueError(settings_errors.TWO_PASSWORDS)
        return self

    @property
    def hides(self) -> bool:
        """Whether a part of the rows must not leave the process."""
        return bool(self.columns or self.exclude_columns or self.masks)

    def read_password(self) -> str:
        """Return the password, from the file or command if there is one.

        Raises ConfigError if the file cannot be read or the command cannot be started, and
        SourceUnavailable if the command fails.
        """
        if self.password_command:
            known = (("{host}", self.host), ("{port}", str(self.port)), ("{user}", self.user))
            command = [_filled(word, known) for word in self.password_command]
            return credentials.command_secret("source.password_command", command, SourceUnavailable)
        if self.password_file is None:
            return self.password.get_secret_value()
        return credentials.read_secret("source.password_file", self.password_file)


def _filled(word: str, known: tuple[tuple[str, str], ...]) -> str:
    for name, value in known:
        word = word.replace(name, value)
    return word


class KafkaSettings(credentials.KafkaLogin):
    """The brokers, and the topics of the pipeline."""

    # Or the URL of a folder alone, which then has the log.
    bootstrap_servers: Annotated[list[values.BrokerAddress], Field(min_length=1)]
    topic_prefix: values.TopicPrefix
    partitions: Annotated[int, Field(ge=1, le=10000)] = 3
    replication_factor: Annotated[int, Field(ge=1, le=32767)] = 1
    retention_hours: Annotated[int, Field(ge=-1)] = 168
    compression: Literal["lz4", "zstd", "gzip", "none"] = "lz4"
    record_bytes_max: Annotated[int, Field(ge=1024, le=2**31 - 1)] = 16 * 1024 * 1024
    tombstones: bool = True
    request_timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    transaction_timeout_seconds: Annotated[float, Field(ge=1)] = 900.0

    @model_validator(mode="after")
    def _brokers_or_folder(self) -> Self:
        require_fit(self.bootstrap_servers, self)
        return self


class DeliverySettings(Section):
    """When a batch of source transactions becomes one Kafka transaction."""

    commit_interval_ms: Annotated[int, Field(ge=1, le=60_000)] = 100
    commit_pause_ms: Annotated[int, Field(ge=0, le=60_000)] = 0
    batch_bytes_max: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    in_flight_bytes_max: Annotated[int, Field(ge=65536)] = 32 * 1024 * 1024
    # Records of BEGIN and END in `<prefix>.transaction`.
    transaction_records: bool = False
    # A record in `<prefix>.heartbeat` this often, also while the source is idle; 0 writes none.
    heartbeat_interval_seconds: Annotated[float, Field(ge=0)] = 0.0


class RegistrySettings(Section):
    """The schema registry of the formats avro and json_schema."""

    alternatives: ClassVar[Alternatives] = (("password", "password_file"),)

    # The first one that answers is used.
    urls: list[values.RegistryUrl] = []
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    # PEM files for https.
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    # The option is key.subject.name.strategy, and the same for values.
    subject_strategy: SubjectStrategy = "topic"
    # auto.register.schemas
    auto_register: bool = True
    timeout_seconds: Annotated[float, Field(gt=0, le=300)] = 10.0

    @model_validator(mode="after")
    def _one_password(self) -> RegistrySettings:
        if self.password is not None and self.password_file is not None:
            raise UnfitValueError(settings_errors.TWO_REGISTRY_PASSWORDS)
        return self

    def read_password(self) -> str:
        """Return the password, from the file if there is one; "" without a password.

        Raises ConfigError if the file cannot be read.
        """
        if self.password_file is not None:
            return credentials.read_secret("registry.password_file", self.password_file)
        return "" if self.password is None else self.password.get_secret_value()


class SnapshotSettings(Section):
    """How tables are copied while the stream goes on."""

    # Where the rows of the copies at the start go: "mirror": the Spark job reads them itself.
    to: Literal["topics", "mirror"] = "topics"
    # Connections that read; each has one chunk at a time.
    connections: Annotated[int, Field(ge=1, le=32)] = 2
    chunk_rows: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    # A chunk is made smaller until its rows fit in.
    chunk_bytes_max: Annotated[int, Field(ge=65536)] = 8 * 1024 * 1024
    # No SELECT runs longer: a long one keeps the server from purging old row versions.
    statement_seconds_max: Annotated[float, Field(gt=0, le=3600)] = 30.0
    # Whether the figures of the source say how much is read, or only `pause_query`.
    pace: Literal["adaptive", "full"] = "adaptive"
    # The pace is halved while the source has more running threads; 0: what is usual there says so.
    threads_running_max: Annotated[int, Field(ge=0)] = 0
    # Reading pauses while the first value of this query's result is above 0.
    pause_query: str | None = None

    @model_validator(mode="after")
    def _one_pace(self) -> SnapshotSettings:
        if self.pace == "full" and self.threads_running_max:
            raise UnfitValueError(settings_errors.FULL_PACE)
        return self


class SignalSettings(Section):
    """Where the pipeline is asked for copies in the form of Debezium."""

    # signal.kafka.topic
    kafka_topic: str | None = None
    # signal.data.collection
    table: values.TablePattern | None = None
    # signal.file
    file: Path | None = None


class NotificationSettings(Section):
    """Where the pipeline tells how copies go, in the form of Debezium."""

    # notification.sink.topic.name
    kafka_topic: Topic | None = None
    # The channel `log`.
    log: bool = False


class QuarantineSettings(Section):
    """What happens to a table, or a row, that cannot be published."""

    policy: Literal["stop", "fence-key", "fence-table"] = "fence-table"


class SchemaSettings(Section):
    """What happens after a change of a table whose effect on rows is not in the log."""

    on_rewrite: Literal["copy", "fence", "stop"] = "copy"
    # For the tables that gh-ost and pt-online-schema-change replace.
    on_cut_over: Literal["copy", "keep"] = "copy"
    # For rows that foreign keys change.
    on_cascade: Literal["copy", "warn"] = "copy"
    # Between two copies of a table because of cascades; see `snapshot.cascaded_copies`.
    cascade_seconds: Annotated[float, Field(ge=0)] = 10.0


class MetricsSettings(Section):
    """Figures for Prometheus, health, and the status page."""

    alternatives: ClassVar[Alternatives] = (("token", "token_file"),)

    listen: values.ListenAddress | None = None
    # Who gives it may change something by the page; without a token, the page only shows.
    token: SecretStr | None = None
    token_file: Path | None = None
    # A collector of OpenTelemetry.
    otlp: values.CollectorAddress | None = None
    # Other processes whose figures the status shows: the Spark job, and `verify --forever`.
    mirror: values.ListenAddress | None = None
    verify: values.ListenAddress | None = None

    @model_validator(mode="after")
    def _one_token(self) -> MetricsSettings:
        if self.token is not None and self.token_file is not None:
            raise UnfitValueError(settings_errors.TWO_TOKENS)
        return self

    def read_token(self) -> str | None:
        """Return the token, from the file if there is one; None without a token.

        Raises ConfigError if the file cannot be read, or if the token is short.
        """
        if self.token_file is not None:
            key = "metrics.token_file"
            token = credentials.read_secret(key, self.token_file)
        elif self.token is not None:
            key, token = "metrics.token", self.token.get_secret_value()
        else:
            return None
        if len(token) < _TOKEN_CHARACTERS_MIN:
            raise ConfigError(
                settings_errors.SHORT_TOKEN, key=key, found=len(token), least=_TOKEN_CHARACTERS_MIN
            )
        return token


class VerifySettings(Section):
    """What `verify --forever` may cost, and what it does."""

    # Rows of the source; 0 does not limit them.
    rows_per_second: Annotated[int, Field(ge=0)] = 1000
    # Between the end of a round over all tables and the beginning of the next one.
    pause_seconds: Annotated[float, Field(ge=0)] = 60.0
    # Between two comparisons of all rows of a table; between them, of what has changed.
    full_every_hours: Annotated[float, Field(ge=0)] = 12.0
    repair: bool = False
    listen: values.ListenAddress | None = None


class RetrySettings(Section):
    """How long to wait after an error that may pass."""

    initial_seconds: Annotated[float, Field(gt=0)] = 0.5
    max_seconds: Annotated[float, Field(gt=0)] = 30.0
    # 0 retries without end.
    attempts_max: Annotated[int, Field(ge=0)] = 0
    # For refusals that may pass, such as a password that is being changed.
    refused_seconds: Annotated[float, Field(ge=0)] = 300.0


class LogSettings(Section):
    """What is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


# Of its base class, pydantic says this about a deprecated method that nothing calls.
warnings.filterwarnings("ignore", 'Field name "schema" in "Settings" shadows', UserWarning)


class Settings(FileSettings):
    """Everything that `run` and `check` need to know."""

    prefix: ClassVar[str] = "BINLOG_CONNECTOR_"
    reference: ClassVar[str] = "binlog-connector config"
    shares_prefix: ClassVar[bool] = True

    # Names the pipeline: the transactional.id and the key of its progress record.
    name: values.PipelineName
    source: SourceSettings
    kafka: KafkaSettings
    envelope: EnvelopeSettings = EnvelopeSettings()
    registry: RegistrySettings = RegistrySettings()
    delivery: DeliverySettings = DeliverySettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    signals: SignalSettings = SignalSettings()
    notifications: NotificationSettings = NotificationSettings()
    quarantine: QuarantineSettings = QuarantineSettings()
    schema: SchemaSettings = SchemaSettings()  # type: ignore[assignment]  # as above
    metrics: MetricsSettings = MetricsSettings()
    verify: VerifySettings = VerifySettings()
    retry: RetrySettings = RetrySettings()
    log: LogSettings = LogSettings()

    @model_validator(mode="after")
    def _has_registry(self) -> Settings:
        for key in ("key_format", "value_format"):
            value = getattr(self.envelope, key)
            if value in REGISTERED and not self.registry.urls:
                raise UnfitValueError(
                    settings_errors.NO_REGISTRY_URLS,
                    key=f"envelope.{key}",
                    value=json.dumps(value),
                )
        return self

    @model_validator(mode="after")
    def _has_heartbeats(self) -> Settings:
        if self.source.heartbeat_statement and not self.delivery.heartbeat_interval_seconds:
            raise UnfitValueError(settings_errors.NO_HEARTBEATS)
        return self

    @model_validator(mode="after")
    def _rows_without_records(self) -> Settings:
        """Check that nothing needs the records of the rows that the Spark job reads itself."""
        if self.snapshot.to == "topics":
            return self
        others = (
            ("source.start", str(self.source.start), self.source.start != "snapshot"),
            ("source.columns", self.source.columns, self.source.columns),
            ("source.exclude_columns", self.source.exclude_columns, self.source.exclude_columns),
            ("source.masks", "[…]", self.source.masks),
            ("envelope.profile", self.envelope.profile, self.envelope.of_debezium is not None),
            ("notifications.log", True, self.notifications.log),
            (
                "notifications.kafka_topic",
                self.notifications.kafka_topic,
                self.notifications.kafka_topic,
            ),
        )
        for key, value, is_set in others:
            if is_set:
                raise UnfitValueError(settings_errors.LOADED_BY_MIRROR, key=key, value=value)
        return self

    @model_validator(mode="after")
    def _topics_of_records(self) -> Settings:
        """Check that no row and no notification goes to a topic of the connector's own."""
        own = own_topics(self.kafka.topic_prefix)
        for route in self.envelope.routes:
            if route.topic in own:
                raise UnfitValueError(settings_errors.OWN_TOPIC, topic=route.topic)
        if self.notifications.kafka_topic in own:
            raise UnfitValueError(
                settings_errors.TOPIC_IN_USE, topic=self.notifications.kafka_topic
            )
        return self
