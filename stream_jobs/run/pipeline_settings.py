"""The settings of several pipelines in one process, which must not touch each other.

What two of them would both write (a mirror, a checkpoint), read (the same topics) or serve (an
address) is refused before anything is written.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from connector.foundation.errors import ConfigError
from connector.foundation.errors.code import ErrorCode
from connector.foundation.settings import file_settings
from stream_jobs.errors import setting_errors
from stream_jobs.run.assembly import checkpoint_of
from stream_jobs.settings import Settings, load_settings

# Cores are divided among the pipelines that have work; else the first one gets all that it can use.
_SCHEDULER: Final = {"spark.scheduler.mode": "FAIR"}


def configuration_files(paths: Sequence[Path]) -> list[Path]:
    """Return files, and each *.toml of folders, once each; raises ConfigError for an empty one."""
    for path in paths:
        if not file_settings.configuration_files([path]):
            raise ConfigError(setting_errors.NO_PIPELINES, folder=path)
    return file_settings.configuration_files(paths)


def load_pipelines(files: Sequence[Path]) -> list[Settings]:
    """Read the files of all pipelines.

    Raises ConfigError for a wrong file, and for two pipelines that are in each other's way.
    """
    pipelines = {file: load_settings(file) for file in files}
    for one, other in combinations(pipelines, 2):
        _refuse_clash(one, pipelines[one], other, pipelines[other])
    return list(pipelines.values())


def session_settings(pipelines: Sequence[Settings]) -> Settings:
    """Return the settings of the Spark session that serves all."""
    # If a checkpoint is not on this machine, Spark must not take it for a local file.
    first = next((each for each in pipelines if _is_remote(each)), pipelines[0])
    spark = first.spark.model_copy(update={"settings": _SCHEDULER | first.spark.settings})
    name = f"{len(pipelines)} pipelines"
    return first.model_copy(update={"name": name, "spark": spark})


def _is_remote(settings: Settings) -> bool:
    checkpoint = settings.mirror.checkpoint
    return ":" in checkpoint and not checkpoint.startswith("file:")


def _refuse_clash(file: Path, one: Settings, other_file: Path, other: Settings) -> None:
    files = {"path": file, "other": other_file}
    for code, value in _clashes(one, other):
        raise ConfigError(code, value=value, **files)
    if (one.spark, one.log) != (other.spark, other.log):
        raise ConfigError(setting_errors.OTHER_SPARK, **files)


def _clashes(one: Settings, other: Settings) -> list[tuple[ErrorCode, str]]:
    """Return what both would use."""
    brokers = set(one.kafka.bootstrap_servers) & set(other.kafka.bootstrap_servers)
    listen = one.metrics.listen
    tried: tuple[tuple[bool, ErrorCode, str], ...] = (
        (one.name == other.name, setting_errors.SAME_PIPELINE_NAME, one.name),
        (
            bool(brokers) and one.kafka.topic_prefix == other.kafka.topic_prefix,
            setting_errors.SAME_PREFIX,
            one.kafka.topic_prefix,
        ),
        (
            _overlap(one, other, lambda settings: settings.mirror.path) and not _share(one, other),
            setting_errors.MIRRORS_OVERLAP,
            other.mirror.path,
        ),
        (
            _overlap(one, other, checkpoint_of),
            setting_errors.CHECKPOINTS_OVERLAP,
            checkpoint_of(other),
        ),
        (
            listen is not None and listen == other.metrics.listen,
            setting_errors.SAME_LISTEN,
            listen or "",
        ),
    )
    return [(code, value) for is_so, code, value in tried if is_so]


def _share(one: Settings, other: Settings) -> bool:
    """Return whether two pipelines share one mirror, as both say."""
    is_wanted = one.mirror.shared and other.mirror.shared
    return is_wanted and _normal(one.mirror.path) == _normal(other.mirror.path)


def _overlap(one: Settings, other: Settings, folder: Callable[[Settings], str]) -> bool:
    """Return whether two folders are the same, or one is in the other."""
    first, second = _normal(folder(one)), _normal(folder(other))
    return first.startswith(second) or second.startswith(first)


def _normal(folder: str) -> str:
    """Return a folder as an absolute path without links, or as its URI, with a slash at the end."""
    local = folder.removeprefix("file://") if folder.startswith("file:///") else folder
    plain = local if "://" in local else str(Path(local).resolve())
    return f"{plain.rstrip('/')}/"
