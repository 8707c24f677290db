"""What a snapshot changes, and what its summary says of that and of the whole table.

Totals are sums over manifests, and not over files.

https://iceberg.apache.org/spec/#optional-snapshot-summary-fields
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from stream_jobs.iceberg.manifests import DataFileEntry, Manifest

# The version of the Delta table, in the summary of the current snapshot. It is the id of each one.
DELTA_VERSION: Final = "delta-version"
_OPERATION: Final = "operation"


class Changes(NamedTuple):
    """What a snapshot changes."""

    new: Sequence[DataFileEntry]
    gone: AbstractSet[str]  # URIs of data files
    vectors: Sequence[DataFileEntry]  # that are new
    stale: AbstractSet[str]  # URIs of data files whose vectors are replaced, or gone

    @property
    def added_rows(self) -> int:
        """The rows of new files."""
        return sum(file.rows for file in self.new)

    @property
    def operation(self) -> str:
        """Iceberg's word for it."""
        if self.gone or self.vectors or self.stale:
            return "overwrite" if self.new else "delete"
        return "append"


def summary(
    version: int,
    changes: Changes,
    manifests: Iterable[Manifest],
    facts: Mapping[str, str],
    *,
    is_rewrite: bool,
) -> dict[str, str]:
    """Return what the snapshot of a version says; `manifests` are all that it has."""
    data, dead = _Totals.of(manifests)
    numbers = {
        "added-data-files": len(changes.new),
        "deleted-data-files": len(changes.gone),
        "added-records": changes.added_rows,
        "added-delete-files": len(changes.vectors),
        "removed-delete-files": len(changes.stale),
        "total-data-files": data.files,
        "total-delete-files": dead.files,
        "total-records": data.rows,
        "total-files-size": data.size,
        "total-position-deletes": dead.rows,
    }
    return {
        _OPERATION: "replace" if is_rewrite else changes.operation,
        DELTA_VERSION: str(version),
        **facts,
        **{name: str(number) for name, number in numbers.items() if number},
    }


def short(known: Mapping[str, str]) -> dict[str, str]:
    """Return what stays of the summary of an older snapshot: all metadata repeat it.

    With GTID, sequence and time, 60 snapshots would add 10 kB to each publication. The tag of a cut
    leads to them, and a catalog keeps what it got (`docs/design/mirror.md` says what was tried).
    """
    return {_OPERATION: known[_OPERATION]}


class _Totals(NamedTuple):
    files: int = 0
    rows: int = 0
    size: int = 0

    @classmethod
    def of(cls, manifests: Iterable[Manifest]) -> "tuple[_Totals, _Totals]":
        """Return the totals of data files, and those of vectors."""
        kinds: tuple[list[Manifest], list[Manifest]] = [], []
        for manifest in manifests:
            kinds[manifest.row.content].append(manifest)
        data, dead = map(cls._sum, kinds)
        return data, dead

    @classmethod
    def _sum(cls, manifests: Collection[Manifest]) -> "_Totals":
        # A manifest that loses a file is written again, so all that it has are live.
        return cls(
            sum(manifest.row.added + manifest.row.existing for manifest in manifests),
            sum(manifest.row.added_rows + manifest.row.existing_rows for manifest in manifests),
            sum(manifest.size for manifest in manifests),
        )
