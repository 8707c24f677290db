"""What the job says about its Iceberg tables to commands and readers: one file for all tables.

_cdc/iceberg/newest.json    the cuts whose tags all tables have, and the tables with a problem

If pipelines share the mirror, each one has this file in its own folder.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import orjson

from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.iceberg.cut_tags import ALONE, CutTags
from stream_jobs.paths import OWN_FOLDER

_FOLDER: Final = f"{OWN_FOLDER}/iceberg"
_PATH: Final = f"{_FOLDER}/newest.json"


@dataclass(frozen=True, slots=True)
class TableProblem:
    """Why a table is not published."""

    since: str  # ISO 8601, UTC
    code: str
    error: str


@dataclass(frozen=True, slots=True)
class PublicationRecord:
    """What the file says."""

    # By the number of a cut: when it was written, in milliseconds since 1970.
    cuts: Mapping[int, int] = field(default_factory=dict)
    # By `database.table`.
    problems: Mapping[str, TableProblem] = field(default_factory=dict)
    # What the tags of the cuts are called.
    tags: CutTags = ALONE

    @staticmethod
    def is_there(storage: Storage) -> bool:
        """Return whether a job has ever published a table of the mirror in `storage`."""
        return any(True for _ in storage.list(_FOLDER))

    @classmethod
    def read(cls, storage: Storage, root: str) -> "PublicationRecord | None":
        """Return what the job wrote to `storage`, whose root is `root` in errors; None if nothing.

        Raises MirrorError if the storage fails, or for a file that is not the job's.
        """
        content = storage.read(_PATH)
        if content is None:
            return None
        try:
            document = orjson.loads(content)
            return cls(
                {int(number): written for number, written in document["cuts"].items()},
                {name: TableProblem(**own) for name, own in document["problems"].items()},
                CutTags(document.get("prefix")),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            path = f"{root.rstrip('/')}/{_PATH}"
            raise MirrorError(job_errors.OWN_FILE, path=path) from error

    def with_tags(self, tags: CutTags) -> "PublicationRecord":
        """Return the record of a job that calls the tags like that: other ones stay for a time.

        They are from before pipelines shared the mirror, or since they do not.
        """
        return self if tags == self.tags else replace(self, cuts={}, tags=tags)

    def write(self, storage: Storage) -> None:
        """Replace the file. Raises MirrorError if the storage fails."""
        content: dict[str, Any] = {
            "cuts": {str(number): written for number, written in self.cuts.items()},
            "problems": {name: asdict(own) for name, own in self.problems.items()},
        }
        if self.tags.prefix is not None:
            content["prefix"] = self.tags.prefix
        storage.write(_PATH, orjson.dumps(content))
