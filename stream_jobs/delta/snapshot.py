"""The state of a table at one version: the sum of all actions up to it.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#action-reconciliation
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from stream_jobs.delta.actions import DataFile, Features, Metadata
from stream_jobs.delta.columns import Column
from stream_jobs.delta.deletion_vectors import DeletionVector
from stream_jobs.errors import MirrorError, delta_errors

# https://github.com/delta-io/delta/blob/master/PROTOCOL.md#clustered-table
CLUSTERING = "delta.clustering"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of a table; never changed."""

    version: int
    features: Features
    metadata: Metadata
    files: Mapping[str, DataFile]  # by path
    domains: Mapping[str, str]
    transactions: Mapping[str, int]  # the last version of each application
    # The version of the checkpoint that this state began with; -1 without one.
    checkpoint: int = field(default=-1, compare=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in their order."""
        return self.metadata.columns

    @property
    def configuration(self) -> Mapping[str, str]:
        """The properties of the table."""
        return self.metadata.configuration

    @property
    def live_rows(self) -> int:
        """How many rows are not dead, without those of files whose writer did not count them."""
        return sum(max(0, file.live) for file in self.files.values())

    @property
    def clustering(self) -> tuple[str, ...]:
        """The columns by which rewritten files are sorted; each has statistics in every file."""
        domain = orjson.loads(self.domains.get(CLUSTERING, '{"clusteringColumns": []}'))
        physical = {column.physical_name: column.name for column in self.columns}
        # The path of a field in a STRUCT has more than one name.
        names = (physical.get(path[0]) for path in domain["clusteringColumns"] if len(path) == 1)
        return tuple(name for name in names if name)

    def has(self, files: Iterable[DataFile]) -> bool:
        """Return whether `files` are part of this version, with the same dead rows."""
        return all(
            (live := self.files.get(file.path)) is not None and live.identity == file.identity
            for file in files
        )

    def same_rows(self, older: "Snapshot") -> bool:
        """Return whether no file and no dead row was added since `older`, or removed."""
        return self.files.keys() == older.files.keys() and self.has(older.files.values())


@dataclass
class SnapshotBuilder:
    """A snapshot that is being summed up."""

    path: str  # of the table, for errors
    version: int = -1
    checkpoint: int = -1
    features: Features | None = None
    metadata: Metadata | None = None
    files: dict[str, DataFile] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    transactions: dict[str, int] = field(default_factory=dict)

    @classmethod
    def after(cls, path: str, snapshot: Snapshot) -> "SnapshotBuilder":
        """Continue after `snapshot`."""
        return cls(
            path,
            snapshot.version,
            snapshot.checkpoint,
            snapshot.features,
            snapshot.metadata,
            dict(snapshot.files),
            dict(snapshot.domains),
            dict(snapshot.transactions),
        )

    def replay(self, version: int, content: bytes) -> list[dict[str, Any]]:
        """Add the actions of a commit, and return them.

        Raises MirrorError if `content` is not a commit, or if it needs unknown features.
        """
        try:
            actions = [orjson.loads(line) for line in content.splitlines() if line]
            for action in actions:
                self.apply(action)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            file = f"{self.path}/_delta_log/{version:020d}.json"
            raise MirrorError(delta_errors.LOG_DAMAGED, file=file, why=error) from error
        self.version = version
        return actions

    def apply(self, action: dict[str, Any]) -> None:
        """Add one action; unknown ones and the history of the table do not matter."""
        if add := action.get("add"):
            self.files[add["path"]] = DataFile.of_json(add)
        elif remove := action.get("remove"):
            self._remove(remove)
        elif domain := action.get("domainMetadata"):
            if domain["removed"]:
                self.domains.pop(domain["domain"], None)
            else:
                self.domains[domain["domain"]] = domain["configuration"]
        elif transaction := action.get("txn"):
            self.transactions[transaction["appId"]] = transaction["version"]
        elif metadata := action.get("metaData"):
            self.metadata = Metadata.of_json(self.path, metadata)
        elif protocol := action.get("protocol"):
            self.features = Features.of_json(protocol)
            self.features.refuse_unknown(self.path)

    def snapshot(self) -> Snapshot:
        """Return the state; raises MirrorError if there was no metadata or no protocol."""
        if self.metadata is None or self.features is None:
            raise MirrorError(delta_errors.NO_METADATA, path=self.path)
        return Snapshot(
            self.version,
            self.features,
            self.metadata,
            self.files,
            self.domains,
            self.transactions,
            self.checkpoint,
        )

    def _remove(self, remove: dict[str, Any]) -> None:
        """Remove a file, unless the same commit has added it with other dead rows."""
        live = self.files.get(remove["path"])
        vector = remove.get("deletionVector")
        removed = DeletionVector.of_json(vector).unique_id if vector else ""
        if live is not None and live.identity == (live.path, removed):
            del self.files[live.path]
