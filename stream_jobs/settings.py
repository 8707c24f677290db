"""The typed settings of the Spark job: a TOML file, and the environment, which has priority.

Every key can be given in the environment as `STREAM_JOB_<SECTION>__<KEY>`, lists and tables as
JSON, for example `STREAM_JOB_KAFKA__BOOTSTRAP_SERVERS='["broker:9092"]'`. An unknown key is an
error. `configs/stream_job.toml` lists every key with its default and when to change it;
`binlog-connector config stream_job.toml` prints that file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import SettingsConfigDict

from connector.settings.files import FileSettings
from connector.settings.values import PipelineName, TopicPrefix

if TYPE_CHECKING:
    from pathlib import Path

# The packages that Spark fetches if no jars are given.
PACKAGES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "io.delta:delta-spark_4.2_2.13:4.4.0",
)

_CLIENT_OPTIONS = {
    # A batch knows its last offset. After it, there is often only a transaction marker, and a fetch
    # would wait 500 ms for it in each partition.
    "kafka.fetch.max.wait.ms": "10",
    # Spark asks three times: without a broker, the job fails after one minute, not three.
    "kafka.request.timeout.ms": "15000",
    "kafka.default.api.timeout.ms": "20000",
}


class Section(BaseModel):
    """Base of every section: unknown keys are errors, and the values are constant."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaSettings(Section):
    """The brokers, and the topics that are read."""

    bootstrap_servers: Annotated[list[str], Field(min_length=1)]
    topic_prefix: TopicPrefix
    max_offsets_per_trigger: Annotated[int, Field(ge=1)] = 100_000
    # If a topic got more partitions, the changes of its keys are not in order any more.
    added_partitions: Literal["error", "accept"] = "error"
    # Options of Kafka's Java consumer, by its own names; secret, because they may hold passwords.
    options: dict[str, SecretStr] = {}

    def client_options(self) -> dict[str, str]:
        """Return the options of every read, under the names of Spark's Kafka source."""
        options = dict(_CLIENT_OPTIONS)
        for key, value in self.options.items():
            options[f"kafka.{key}"] = value.get_secret_value()
        options["kafka.bootstrap.servers"] = ",".join(self.bootstrap_servers)
        options["kafka.isolation.level"] = "read_committed"
        return options


class MirrorSettings(Section):
    """The folders of the Delta tables, and how unsupported values are stored."""

    path: Annotated[str, Field(min_length=1)]
    checkpoint: Annotated[str, Field(min_length=1)]
    tables_in_parallel: Annotated[int, Field(ge=1, le=64)] = 4
    # DATE, DATETIME and TIMESTAMP values that Spark's types cannot hold.
    zero_dates: Literal["error", "null"] = "error"
    # Values of existing rows in an added column that the log does not hold.
    unknown_defaults: Literal["error", "null"] = "error"


class TriggerSettings(Section):
    """When a batch starts."""

    kind: Literal["processingTime", "availableNow"] = "processingTime"
    interval_seconds: Annotated[float, Field(ge=0, le=86_400)] = 5.0


class SparkSettings(Section):
    """The Spark session, if the job starts it itself."""

    jars: list[str] = []
    packages: list[str] = list(PACKAGES)
    log_level: Literal["INFO", "WARN", "ERROR"] = "WARN"
    settings: dict[str, str | int | float | bool] = {}


class Settings(FileSettings):
    """All settings of the job."""

    model_config = SettingsConfigDict(env_prefix="STREAM_JOB_")

    reference: ClassVar[str] = "binlog-connector config stream_job.toml"

    # Names the pipeline; a part of Delta's txnAppId, so that two pipelines never share one.
    name: PipelineName
    kafka: KafkaSettings
    mirror: MirrorSettings
    trigger: TriggerSettings = TriggerSettings()
    spark: SparkSettings = SparkSettings()


def load_settings(path: Path) -> Settings:
    """Read the TOML file at `path`, then the environment.

    Raises ConfigError, which names every wrong key.
    """
    return Settings.load(path)
