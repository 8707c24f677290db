"""Where the comparison of one table began: what changed later has to be compared again."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Self

from stream_jobs.source.table_schema import TableSchema
from verification.side import Side
from verification.source_moment import SourceMoment

_DIGEST_BYTES: Final = 12


class Baseline(NamedTuple):
    """Where the last comparison of a table began, and what it found."""

    of: str  # what was compared, as `compared_of` says
    version: int  # of the mirror
    ends: Mapping[int, int]  # of the topic, by partition
    different: str = ""  # the keys of rows that differed
    through: SourceMoment | None = None  # the table was equal through this moment
    # When the last comparison of all rows began, and the last one that found them equal.
    whole: SourceMoment | None = None
    proven: SourceMoment | None = None

    def to_json(self) -> list[Any]:
        """Return what the file has."""
        moments = (self.through, self.whole, self.proven)
        told = [None if each is None else each.to_json() for each in moments]
        return [self.of, self.version, list(self.ends.items()), self.different, *told]

    @classmethod
    def of_json(cls, entry: list[Any]) -> Self:
        """Return what `to_json` wrote. Raises KeyError, TypeError or ValueError for others."""
        of, version, ends, different, *moments = entry
        through, whole, proven = (
            None if each is None else SourceMoment.of_json(each) for each in moments
        )
        return cls(of, version, dict(ends), different, through, whole, proven)


def compared_names(schema: TableSchema, mirror: Side) -> list[str]:
    """Return what is compared of a table: what was equal before counts only for the same."""
    return [schema.schema_id, mirror.snapshot.metadata.table_id, *mirror.columns]


def compared_of(schema: TableSchema, mirror: Side) -> str:
    """Return a digest of `compared_names`."""
    names = json.dumps(compared_names(schema, mirror)).encode()
    return blake2b(names, digest_size=_DIGEST_BYTES).hexdigest()
