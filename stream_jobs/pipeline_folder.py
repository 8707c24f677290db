"""The folder of a pipeline's own files, and the owner that it names.

    <mirror.path>/_cdc                               of the pipeline that had the mirror first
    <mirror.path>/_pipelines/<topic prefix>/_cdc     of each other one, if they share the mirror

The first pipeline has its files where they are without `mirror.shared`. So a mirror that is there
becomes a shared one without a file that moves, and a job that does not know of other pipelines
finds an owner.
"""

import json
import os
import socket
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.paths import OWN_FOLDER, PIPELINES, pipeline_path
from stream_jobs.settings import Settings

OWNERS: Final = f"{OWN_FOLDER}/owner"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that has taken a mirror, or its place in a shared one."""

    name: str  # of the pipeline
    prefix: str  # of its topics
    host: str
    pid: int
    since: str  # ISO 8601, UTC
    epoch: str  # of this process alone
    # Whether other pipelines may have shards in the mirror.
    shared: bool = False
    # Whether it is no job, but removes the shards of the pipeline.
    drops_shards: bool = False

    @classmethod
    def here(
        cls, name: str, prefix: str, *, shared: bool = False, drops_shards: bool = False
    ) -> "Owner":
        """Return this process."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        host, pid = socket.gethostname(), os.getpid()
        return cls(name, prefix, host, pid, since, uuid.uuid4().hex, shared, drops_shards)

    def write(self) -> bytes:
        """Return the content of the file."""
        # Earlier versions know a mirror of one pipeline alone, or jobs alone.
        unknown = {name for name in ("shared", "drops_shards") if not getattr(self, name)}
        content = {name: own for name, own in asdict(self).items() if name not in unknown}
        return json.dumps(content, indent=1).encode()


def owner_path(number: int) -> str:
    """Return the path of the file of an owner."""
    return f"{OWNERS}/{number:020d}.json"


def owner_numbers(storage: Storage) -> list[int]:
    """Return the numbers of the owners of a folder, in order."""
    names = [file.name.removesuffix(".json") for file in storage.list(OWNERS)]
    return sorted(int(name) for name in names if name.isdecimal())


def newest_owner(storage: Storage, base: str) -> Owner | None:
    """Return the process that has a folder, whose root is `base` in errors; None without one.

    Raises MirrorError for a file that is none of the job's.
    """
    for number in reversed(owner_numbers(storage)):
        content = storage.read(owner_path(number))
        if content is None:
            continue
        try:
            return Owner(**json.loads(content))
        except (ValueError, TypeError) as error:
            path = f"{base.rstrip('/')}/{owner_path(number)}"
            raise MirrorError(job_errors.OWN_FILE, path=path) from error
    return None


class PipelineFolder(NamedTuple):
    """A folder with `_cdc` of one pipeline."""

    storage: Storage  # its root is the folder
    base: str  # the folder, as errors name it


def folder_of(settings: Settings) -> PipelineFolder:
    """Return the folder of a pipeline; raises MirrorError if the storage fails."""
    mirror = settings.mirror
    return pipeline_folder(mirror.path, settings.kafka.topic_prefix if mirror.shared else None)


def pipeline_folder(path: str, prefix: str | None) -> PipelineFolder:
    """Return the folder of the pipeline with the topics `prefix` in the shared mirror at `path`.

    None stands for the pipeline of a mirror that has only one. Raises ConfigError for a path of an
    unknown storage, and MirrorError if the storage fails.
    """
    root, base = storage_of(path), path.rstrip("/")
    if prefix is None:
        return PipelineFolder(root, base)
    if not has_other_folder(root, prefix):
        first = newest_owner(root, base)
        if first is None or first.prefix == prefix:
            return PipelineFolder(root, base)
    place = f"{base}/{pipeline_path(prefix)}"
    return PipelineFolder(storage_of(place), place)


def has_other_folder(root: Storage, prefix: str) -> bool:
    """Return whether a pipeline has joined the mirror of another one in the storage `root`."""
    return next(iter(root.list(f"{pipeline_path(prefix)}/{OWNERS}")), None) is not None


def has_guests(root: Storage) -> bool:
    """Return whether any pipeline has joined the mirror of another one."""
    return any(f"/{OWNERS}/" in file.name for file in root.list(PIPELINES))
