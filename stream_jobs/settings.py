"""The typed settings of the Spark job: a TOML file, and the environment, which has priority.

Every key can be given in the environment as `STREAM_JOB_<SECTION>__<KEY>`, lists and tables as
JSON, for example `STREAM_JOB_KAFKA__BOOTSTRAP_SERVERS='["broker:9092"]'`. An unknown key is an
error. `configs/stream_job.toml` lists every key with its default and when to change it;
`binlog-connector config stream_job.toml` prints that file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_settings import SettingsConfigDict

from connector.settings.files import FileSettings
from connector.settings.kafka_login import KafkaLogin
from connector.settings.values import PipelineName, TopicPrefix
from stream_jobs.source.facts import KafkaFacts

if TYPE_CHECKING:
    from pathlib import Path


class Section(BaseModel):
    """Base of every section: unknown keys are errors, and the values are constant."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaSettings(KafkaLogin):
    """The brokers, and the topics that are read."""

    bootstrap_servers: Annotated[list[str], Field(min_length=1)]
    topic_prefix: TopicPrefix
    max_offsets_per_trigger: Annotated[int, Field(ge=1)] = 100_000
    max_bytes_per_task: Annotated[int, Field(ge=1)] = 128 * 1024 * 1024
    # If a topic got more partitions, the changes of its keys are not in order any more.
    added_partitions: Literal["error", "accept"] = "error"
    request_timeout_seconds: Annotated[float, Field(gt=0)] = 30.0

    def facts(self) -> KafkaFacts:
        """Return how the brokers are reached.

        Raises ConfigError if the file of the password cannot be read.
        """
        return KafkaFacts(
            tuple(self.bootstrap_servers),
            self.request_timeout_seconds,
            tuple(sorted(self.login_arguments().items())),
        )


class MirrorSettings(Section):
    """The folders of the Delta tables, and how unsupported values are stored."""

    path: Annotated[str, Field(min_length=1)]
    checkpoint: Annotated[str, Field(min_length=1)]
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


class TriggerSettings(Section):
    """When a batch starts."""

    kind: Literal["processingTime", "availableNow"] = "processingTime"
    interval_seconds: Annotated[float, Field(ge=0, le=86_400)] = 5.0


class SparkSettings(Section):
    """The Spark session, if the job starts it itself."""

    jars: list[str] = []
    packages: list[str] = []
    log_level: Literal["INFO", "WARN", "ERROR"] = "WARN"
    settings: dict[str, str | int | float | bool] = {}


class Settings(FileSettings):
    """All settings of the job."""

    model_config = SettingsConfigDict(env_prefix="STREAM_JOB_")

    reference: ClassVar[str] = "binlog-connector config stream_job.toml"

    # Names the pipeline in status lines and in Spark.
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
