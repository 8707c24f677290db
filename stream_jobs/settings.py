"""The typed settings of the Spark job: a TOML file, and the environment, which has priority.

Every key can be given in the environment as `STREAM_JOB_<SECTION>__<KEY>`, lists and tables as
JSON, for example `STREAM_JOB_KAFKA__BOOTSTRAP_SERVERS='["broker:9092"]'`. An unknown key is an
error. `configs/stream_job.toml` lists every key with its default and when to change it;
`binlog-connector config stream_job.toml` prints that file.
"""

import re
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from connector.foundation.settings import log_folder, settings_errors, values
from connector.foundation.settings.credentials import KafkaLogin, ServerLogin
from connector.foundation.settings.file_settings import Alternatives, FileSettings, UnfitValueError
from stream_jobs.errors import setting_errors, shard_errors
from stream_jobs.source.topics import BrokerConfig


def _as_mirror_name(value: str) -> str:
    # The database and the name; braces stand around the two known words alone.
    part = r"(?:[^.{}]|\{database\}|\{table\})+"
    if not re.fullmatch(rf"{part}\.{part}", value):
        raise UnfitValueError(setting_errors.MIRROR_NAME, value=value)
    return value


Format = Literal["delta", "iceberg"]


def _with_delta(value: list[Format]) -> list[Format]:
    # Progress is in Delta's log alone.
    if value and "delta" not in value:
        raise UnfitValueError(setting_errors.NO_DELTA)
    return value


Formats = Annotated[list[Format], AfterValidator(_with_delta)]
ColumnNames = list[Annotated[str, Field(min_length=1)]]


class Section(BaseModel):
    """Base of every section: unknown keys are errors, and the values are constant."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaSettings(KafkaLogin):
    """The brokers, and the topics that are read."""

    # Or the URL of a folder alone, which then has the log.
    bootstrap_servers: Annotated[list[str], Field(min_length=1)]
    topic_prefix: values.TopicPrefix
    max_offsets_per_trigger: Annotated[int, Field(ge=1)] = 100_000
    max_bytes_per_task: Annotated[int, Field(ge=1)] = 128 * 1024 * 1024
    # If a topic got more partitions, the changes of its keys are not in order any more.
    added_partitions: Literal["error", "accept"] = "error"
    request_timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    # When records go that all mirrors have; 0: never.
    delete_after_hours: Annotated[float, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _brokers_or_folder(self) -> Self:
        log_folder.require_fit(self.bootstrap_servers, self)
        return self

    def facts(self) -> BrokerConfig:
        """Return how the brokers are reached.

        Raises ConfigError if the file of the password cannot be read or its command cannot be
        started, and SinkUnavailable if the command fails.
        """
        return BrokerConfig(
            tuple(self.bootstrap_servers),
            self.request_timeout_seconds,
            tuple(sorted(self.login_arguments().items())),
        )


class MirrorSettings(Section):
    """The folders of the Delta tables, and how unsupported values are stored."""

    path: Annotated[str, Field(min_length=1)]
    # Whether other pipelines have shards in the same tables.
    shared: bool = False
    # What each mirror can be read as.
    formats: Annotated[Formats, Field(min_length=1)] = ["delta"]
    # Whether new mirrors have Delta's change data feed.
    change_data_feed: bool = False
    # Structured Streaming's own folder; empty for one of this user and pipeline.
    checkpoint: str = ""
    # Commits that are written at the same time.
    commits_in_parallel: Annotated[int, Field(ge=1, le=64)] = 8
    # Small files are compacted until they have about this size.
    target_file_bytes: Annotated[int, Field(ge=1024 * 1024)] = 64 * 1024 * 1024
    # How long old versions of a table can be read, and how long their files are kept.
    retention_hours: Annotated[int, Field(ge=1)] = 6
    # Folder of the key indexes on the local disk of each machine; made again when it is lost.
    index_folder: str = ""
    index_bytes_max: Annotated[int, Field(ge=0)] = 4 * 1024**3
    # DATE, DATETIME and TIMESTAMP values that Spark's types cannot hold.
    zero_dates: Literal["error", "null"] = "error"
    # Values of existing rows in an added column that the log does not hold.
    unknown_defaults: Literal["error", "null"] = "error"
    # What hashes of columns begin with; short ones could be found by trying.
    hash_salt: Annotated[SecretStr, Field(min_length=16)] | None = None


def _as_shard_pattern(value: str) -> str:
    try:
        has_group = "shard" in re.compile(value).groupindex
    except re.error:
        has_group = False
    if value and not has_group:
        raise UnfitValueError(shard_errors.SHARD_PATTERN, value=value)
    return value


class ShardSettings(Section):
    """How tables share one mirror: each is a shard of it."""

    # A column that the mirror has before those of the tables.
    column: Annotated[str, Field(min_length=1, pattern=r"^[^_]")]
    # What the rows of the tables have there: a constant, or a part of `database.table`.
    value: str = ""
    pattern: Annotated[str, AfterValidator(_as_shard_pattern)] = ""

    @model_validator(mode="after")
    def _one_source(self) -> "ShardSettings":
        if bool(self.value) == bool(self.pattern):
            raise UnfitValueError(shard_errors.SHARD_VALUE)
        return self


_OWN_NAME: Final = "{database}.{table}"


class TableSettings(Section):
    """What differs for the tables that a pattern names."""

    # `database.table` patterns, as in the connector's source.tables.
    match: Annotated[list[values.TablePattern], Field(min_length=1)]
    # What the mirror holds of a table, see docs/mirror.md.
    mode: Literal["current", "soft_delete", "history", "journal", "rows"] = "current"
    # Whether the tables have no mirror, and their topics are not read.
    skip: bool = False
    # The database and the name of the mirror.
    name: Annotated[str, AfterValidator(_as_mirror_name)] = _OWN_NAME
    # None: each table has a mirror of its own.
    shard: ShardSettings | None = None
    # Empty: those of `mirror`.
    formats: Formats = []
    # Names or patterns of columns. The first of these that names a column decides.
    exclude_columns: ColumnNames = []
    mask_columns: ColumnNames = []
    hash_columns: ColumnNames = []
    # What masked columns have instead of their values.
    mask: str = "***"
    partition_by: ColumnNames = []
    cluster_by: Annotated[ColumnNames, Field(max_length=4)] = []
    # 0: that of `mirror`.
    target_file_bytes: Annotated[int, Field(ge=0)] = 0

    @field_validator("cluster_by")
    @classmethod
    def _one_layout(cls, value: list[str], info: ValidationInfo) -> list[str]:
        if value and info.data.get("partition_by"):
            raise UnfitValueError(setting_errors.TWO_LAYOUTS)
        if value and info.data.get("shard"):
            raise UnfitValueError(shard_errors.SHARD_CLUSTER)
        return value

    @field_validator("shard")
    @classmethod
    def _one_mirror(cls, value: ShardSettings | None, info: ValidationInfo) -> ShardSettings | None:
        if value is not None and info.data.get("name") == _OWN_NAME:
            raise UnfitValueError(shard_errors.SHARD_NAME, name=_OWN_NAME)
        return value


class CatalogSettings(Section):
    """Where the mirrors have names, apart from their folders."""

    # "spark": the catalog of the Spark session.
    kind: Literal["path", "spark"] = "path"


def _as_catalog_url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s?#@]+", value) or value.rstrip("/").endswith("/v1"):
        raise UnfitValueError(setting_errors.CATALOG_URL)
    return value.rstrip("/")


def _as_token_url(value: str) -> str:
    return _as_catalog_url(value) if value else value


def _as_namespace(value: str) -> str:
    # Levels with dots between them; braces stand around the known word alone.
    level = r"(?:[^.{}]|\{database\})+"
    if not re.fullmatch(rf"{level}(?:\.{level})*", value):
        raise UnfitValueError(setting_errors.NAMESPACE, value=value)
    return value


class IcebergSettings(Section):
    """The Iceberg tables of mirrors with this format, and their catalog."""

    alternatives: ClassVar[Alternatives] = (
        ("token", "token_file", "token_command"),
        ("client_secret", "client_secret_file"),
    )

    # How long a version of a Delta table waits until it is published, about.
    every_seconds: Annotated[float, Field(ge=0.1, le=3600)] = 10.0
    # Of each table.
    snapshots: Annotated[int, Field(ge=1, le=10_000)] = 60
    # A REST catalog; without one, tables are found by their paths alone.
    catalog: Annotated[str, AfterValidator(_as_catalog_url)] | None = None
    warehouse: str = ""
    # Of a table in the catalog; its name is that of the mirror.
    namespace: Annotated[str, AfterValidator(_as_namespace)] = "{database}"
    token: SecretStr | None = None
    token_file: Path | None = None
    # It writes the token; called when there is none, and after the catalog has refused one.
    token_command: list[str] = []
    # OAuth2, with the credentials of a client.
    client_id: str = ""
    client_secret: SecretStr | None = None
    client_secret_file: Path | None = None
    scope: str = "catalog"
    # Empty: /v1/oauth/tokens of the catalog.
    token_url: Annotated[str, AfterValidator(_as_token_url)] = ""
    # Requests are signed for a service of AWS in a region, with the credentials of the environment.
    sigv4_service: str = ""
    sigv4_region: str = ""
    # What to do with a table to which another program has committed.
    on_foreign_commit: Literal["stop", "replace"] = "stop"

    @model_validator(mode="after")
    def _one_login(self) -> "IcebergSettings":
        tokens = self.token, self.token_file, self.token_command or None
        logins = *tokens, self.client_id or None, self.sigv4_service or None
        secrets = self.client_secret, self.client_secret_file
        if any(sum(value is not None for value in given) > 1 for given in (logins, secrets)):
            raise UnfitValueError(settings_errors.TWO_CATALOG_LOGINS)
        if bool(self.client_id) != any(secret is not None for secret in secrets):
            raise UnfitValueError(setting_errors.HALF_OAUTH2)
        if bool(self.sigv4_service) != bool(self.sigv4_region):
            raise UnfitValueError(setting_errors.HALF_SIGV4)
        return self


class CutSettings(Section):
    """Moments at which the versions of all tables are known."""

    # How long a cut can be read; 0: as long as old versions of the tables.
    retention_hours: Annotated[int, Field(ge=0)] = 0


class LoadSettings(ServerLogin):
    """The source, if the job reads the rows of first copies there."""

    section: ClassVar[str] = "first_load"

    # More servers that have the rows, with the login and the options of the URL.
    replicas: list[values.ServerAddress] = Field(default=[])
    # Ranges that are read at a time, over all workers and servers.
    connections: Annotated[int, Field(ge=1, le=256)] = 4
    # Rows that one task reads, about; they become one data file.
    range_rows: Annotated[int, Field(ge=1, le=10_000_000)] = 500_000
    # As snapshot.pace, threads_running_max and pause_query of the connector.
    pace: Literal["adaptive", "full"] = "adaptive"
    threads_running_max: Annotated[int, Field(ge=0)] = 0
    pause_query: str | None = None


def _as_database(value: str) -> str:
    if not re.fullmatch(r"(?:[^{}]|\{database\})+", value):
        raise UnfitValueError(setting_errors.DATABASE_NAME, value=value)
    return value


class ReplicaSettings(ServerLogin):
    """The server that the command `replica` keeps equal to the mirror."""

    section: ClassVar[str] = "replica"

    # The database of a table at the target.
    database: Annotated[str, AfterValidator(_as_database)] = "{database}"
    # Tables that the first load writes at a time.
    connections: Annotated[int, Field(ge=1, le=32)] = 4
    # Metrics for Prometheus: the process is another one than that of the job.
    listen: values.ListenAddress | None = None


class TriggerSettings(Section):
    """When a batch starts."""

    kind: Literal["processingTime", "availableNow"] = "processingTime"
    interval_seconds: Annotated[float, Field(ge=0, le=86_400)] = 1.0


class RetrySettings(Section):
    """How long to wait for Kafka."""

    seconds: Annotated[float, Field(ge=0)] = 600.0


class LogSettings(Section):
    """The form of all lines: of the job on standard output, of Spark on standard error."""

    format: Literal["console", "json"] = "console"


class MetricsSettings(Section):
    """Metrics for Prometheus."""

    listen: values.ListenAddress | None = None
    tables_max: Annotated[int, Field(ge=0)] = 1000


class SparkSettings(Section):
    """The Spark session, if the job starts it itself."""

    jars: list[str] = []
    packages: list[str] = []
    log_level: Literal["INFO", "WARN", "ERROR"] = "WARN"
    settings: dict[str, str | int | float | bool] = {}


class Settings(FileSettings):
    """All settings of the job."""

    prefix: ClassVar[str] = "STREAM_JOB_"
    reference: ClassVar[str] = "binlog-connector config stream_job.toml"

    # Names the pipeline in status lines and in Spark.
    name: values.PipelineName
    kafka: KafkaSettings
    mirror: MirrorSettings
    # The first one with a pattern for a table decides.
    tables: list[TableSettings] = Field(default_factory=list)
    iceberg: IcebergSettings = IcebergSettings()
    cuts: CutSettings = CutSettings()
    first_load: LoadSettings = LoadSettings()
    replica: ReplicaSettings = ReplicaSettings()
    catalog: CatalogSettings = CatalogSettings()
    trigger: TriggerSettings = TriggerSettings()
    retry: RetrySettings = RetrySettings()
    log: LogSettings = LogSettings()
    metrics: MetricsSettings = MetricsSettings()
    spark: SparkSettings = SparkSettings()

    @field_validator("tables")
    @classmethod
    def _salt_of_hashes(
        cls, value: list[TableSettings], info: ValidationInfo
    ) -> list[TableSettings]:
        mirror = info.data.get("mirror")
        if mirror is not None and mirror.hash_salt is None and any(t.hash_columns for t in value):
            raise UnfitValueError(setting_errors.NO_SALT)
        return value

    @field_validator("replica")
    @classmethod
    def _no_shards(cls, value: ReplicaSettings, info: ValidationInfo) -> ReplicaSettings:
        tables = info.data.get("tables", ())
        if value.url is not None and any(table.shard is not None for table in tables):
            raise UnfitValueError(shard_errors.SHARD_REPLICA)
        return value

    @field_validator("cuts")
    @classmethod
    def _versions_of_cuts(cls, value: CutSettings, info: ValidationInfo) -> CutSettings:
        mirror = info.data.get("mirror")
        hours = value.retention_hours
        if mirror is not None and hours > mirror.retention_hours:
            kept = mirror.retention_hours
            raise UnfitValueError(setting_errors.CUTS_TOO_LONG, hours=hours, kept=kept)
        return value

    @model_validator(mode="after")
    def _shards_of_pipelines(self) -> "Settings":
        if self.mirror.shared:
            tables = [table for table in self.tables if not table.skip]
            if not tables or any(table.shard is None for table in tables):
                raise UnfitValueError(shard_errors.SHARED_TABLES)
            formats = [self.mirror.formats, *(table.formats for table in tables)]
            is_iceberg = any("iceberg" in chosen for chosen in formats)
            if is_iceberg and self.iceberg.catalog is not None:
                raise UnfitValueError(shard_errors.SHARED_CATALOG)
        return self

    @property
    def cuts_ms(self) -> int:
        """How long a cut can be read, in milliseconds."""
        hours = self.cuts.retention_hours or self.mirror.retention_hours
        return hours * 3_600_000


def load_settings(path: Path) -> Settings:
    """Read the TOML file at `path`, then the environment.

    Raises ConfigError, which names every wrong key.
    """
    return Settings.load(path)
