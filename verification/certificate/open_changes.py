"""Transactions that were being committed when a snapshot was taken: its rows tell which it has.

MySQL names the transactions that a snapshot has for sure. Behind them in the log are others, of
which it may have some. It has each as a whole or not at all. So if its rows are those that the log
gives after one of these transactions, the snapshot is of this moment. If they are those after
several of them, the table was the same at all these moments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from verification.digests import Digest, keys_by_digest
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.logged_rows import LoggedImages, LoggedRows
from verification.foreign.row_states import Change, Value
from verification.source_table import RowKey


@dataclass(slots=True)
class OpenChanges:
    """What such transactions have changed in one table."""

    mapping: ColumnMapping
    # By the place of each transaction, in the order of the log: rows of keys, before and after it.
    steps: dict[str, dict[Digest, tuple[Value, Value]]] = field(default_factory=dict)
    _keys: dict[Digest, RowKey] = field(default_factory=dict)

    def take(self, images: LoggedImages, rows: LoggedRows) -> None:
        """Add the images of transactions that have a step."""
        are_open = np.array([change.place in self.steps for change in images.changes], np.bool_)
        if not are_open.any():
            return
        mapping = self.mapping
        digests = mapping.keys(images.data)
        named = keys_by_digest(images.data, mapping.key, digests, np.flatnonzero(are_open))
        self._keys |= zip(*named, strict=True)
        rows.add_all(images, self._add)

    def keys_of(self, places: Sequence[str]) -> dict[Digest, RowKey]:
        """Return the keys of rows that some transactions have changed."""
        return {key: self._keys[key] for place in places for key in self.steps[place]}

    def count_in(self, places: Sequence[str], seen: Mapping[Digest, Value]) -> int | None:
        """Return how many of some transactions a snapshot has, whose rows of their keys are `seen`.

        None if it has them in another order than the log.
        """
        state: dict[Digest, Value] = {}
        for place in places:
            for key, (before, _) in self.steps[place].items():
                state.setdefault(key, before)
        found = 0 if state == seen else None
        for number, place in enumerate(places, 1):
            state |= {key: after for key, (_, after) in self.steps[place].items()}
            if state == seen:
                found = number
        return found

    def _add(self, key: Digest, before: Value, after: Value, change: Change) -> None:
        step = self.steps.get(change.place)
        if step is not None:
            first, _ = step.get(key, (before, after))
            step[key] = first, after
