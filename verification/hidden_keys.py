"""Keys of which the mirror has only hashes.

A row of the source has its key and the key's hash, so it is found on both sides. A row that only
the mirror has is another case: nobody can tell its key from the hash. If it changed since the
source was read, the topic's records have its key. If not, the source does not have the row: its
SELECTs would have seen it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verification.clear_keys import UNKNOWN
from verification.digests import digests, pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verification.clear_keys import Key
    from verification.digests import Digest
    from verification.pipeline import Pipeline
    from verification.side import Side
    from verification.source_table import SourceTable


class HiddenKeys:
    """Finds keys that only the mirror had, if they changed."""

    def __init__(self, pipeline: Pipeline, source: SourceTable, mirror: Side) -> None:
        """Look into the topic of a table."""
        self._pipeline = pipeline
        self._source = source
        self._mirror = mirror
        # Offsets before the source was read, by partition.
        self.begin: Mapping[int, int] = {}

    def find(self, candidates: dict[Digest, Key]) -> None:
        """Fill in the keys that are `UNKNOWN` and that records since then have."""
        source, mirror = self._source, self._mirror
        wanted = {digest for digest, key in candidates.items() if key == UNKNOWN}
        if not wanted:
            return
        names = source.schema.database, source.schema.table
        ends = self._pipeline.ends(*names)
        for records in self._pipeline.records(*names, self.begin, ends):
            for image in ("before", "after"):
                data = source.typed([record.value for record in records], image)
                keys = source.clear_keys.keys_of(data, mirror.key)
                own = zip(pairs(digests(data, mirror.key)), keys, strict=True)
                candidates |= {digest: key for digest, key in own if digest in wanted}
