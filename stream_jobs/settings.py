"""Typed settings of the Spark job: a TOML file, then the environment on top of it.

Every key can be given in the environment as `STREAM_JOB_<SECTION>__<KEY>`, lists and tables as
JSON, for example `STREAM_JOB_KAFKA__BOOTSTRAP_SERVERS='["broker:9092"]'`. An unknown key is an
error. `configs/stream_job.toml` lists every key with its default and when to change it;
`binlog-connector config stream_job.toml` prints that file.
"""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from connector.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

ENVIRONMENT_PREFIX = "STREAM_JOB_"
NESTED = "__"
_LISTS = "`binlog-connector config stream_job.toml` lists the keys"

# What Spark fetches itself where no jars are given.
PACKAGES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "io.delta:delta-spark_4.2_2.13:4.4.0",
)

_CLIENT_OPTIONS = {
    # A batch knows its last offset. Behind it often stands only a transaction marker, for which a
    # fetch would wait 500 ms in each partition.
    "kafka.fetch.max.wait.ms": "10",
    # Spark asks three times: a minute without a broker, not three, until the job says so.
    "kafka.request.timeout.ms": "15000",
    "kafka.default.api.timeout.ms": "20000",
}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaSettings(_Section):
    """The brokers and the topics that are read."""

    bootstrap_servers: Annotated[list[str], Field(min_length=1)]
    topic_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    max_offsets_per_trigger: Annotated[int, Field(ge=1)] = 100_000
    # Keys of a topic that got more partitions have no order any more.
    added_partitions: Literal["error", "accept"] = "error"
    # Options of Kafka's Java consumer, by its own names. Secret, because credentials are here.
    options: dict[str, SecretStr] = {}

    def client_options(self) -> dict[str, str]:
        """Return the options of every read, under the names of Spark's Kafka source."""
        options = dict(_CLIENT_OPTIONS)
        for key, value in self.options.items():
            options[f"kafka.{key}"] = value.get_secret_value()
        options["kafka.bootstrap.servers"] = ",".join(self.bootstrap_servers)
        options["kafka.isolation.level"] = "read_committed"
        return options


class MirrorSettings(_Section):
    """Where the Delta tables lie, and what they cannot hold."""

    path: Annotated[str, Field(min_length=1)]
    checkpoint: Annotated[str, Field(min_length=1)]
    tables_in_parallel: Annotated[int, Field(ge=1, le=64)] = 4
    # DATE, DATETIME and TIMESTAMP values that Spark's types cannot hold.
    zero_dates: Literal["error", "null"] = "error"
    # Values of existing rows in an added column that the log does not hold.
    unknown_defaults: Literal["error", "null"] = "error"


class TriggerSettings(_Section):
    """When a batch is taken."""

    kind: Literal["processingTime", "availableNow"] = "processingTime"
    interval_seconds: Annotated[float, Field(ge=0, le=86_400)] = 5.0


class SparkSettings(_Section):
    """The Spark session, where the job starts it itself."""

    jars: list[str] = []
    packages: list[str] = list(PACKAGES)
    log_level: Literal["INFO", "WARN", "ERROR"] = "WARN"
    settings: dict[str, str | int | float | bool] = {}


class Settings(BaseSettings):
    """Everything that the job needs to know."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter=NESTED,
    )

    # Names the pipeline; part of Delta's txnAppId, so that two pipelines never share one.
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    kafka: KafkaSettings
    mirror: MirrorSettings
    trigger: TriggerSettings = TriggerSettings()
    spark: SparkSettings = SparkSettings()

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


def load_settings(path: Path) -> Settings:
    """Read the TOML file at `path`, then the environment.

    Raises ConfigError with one line per wrong key.
    """
    try:
        document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = f"{path}: cannot read the configuration: {error.strerror}"
        raise ConfigError(reason) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = f"{path}: not valid TOML: {error}"
        raise ConfigError(reason) from error
    _refuse_unknown_variables()
    try:
        return Settings(**document)
    except ValidationError as error:
        lines = [_explain(problem, path) for problem in error.errors(include_input=False)]
        raise ConfigError("\n".join(lines)) from error


def _refuse_unknown_variables() -> None:
    for variable in sorted(os.environ):
        if not variable.startswith(ENVIRONMENT_PREFIX):
            continue
        keys = variable.removeprefix(ENVIRONMENT_PREFIX).lower().split(NESTED)
        section: Any = Settings
        for key in keys:
            fields = getattr(section, "model_fields", {})
            if key not in fields:
                reason = (
                    f"environment variable {variable}: there is no key {'.'.join(keys)}; {_LISTS}"
                )
                raise ConfigError(reason)
            section = fields[key].annotation


def _explain(problem: Any, path: Path) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{path}: unknown key {key}; {_LISTS}"
    if problem["type"] == "missing":
        variable = ENVIRONMENT_PREFIX + NESTED.join(key.upper().split("."))
        return f"{path}: {key} is required (or set {variable})"
    return f"{path}: {key}: {problem['msg']}"
