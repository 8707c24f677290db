"""What the driver keeps of a topic between batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stream_jobs.mirror_table import MirrorTable
from stream_jobs.paths import table_path

if TYPE_CHECKING:
    from stream_jobs.delta.storage import Storage
    from stream_jobs.schema_registry import SchemaRegistry
    from stream_jobs.table_schema import TableSchema


@dataclass(slots=True)
class TopicState:
    """A topic, its table, and its mirror."""

    topic: str
    # Whether a schema record of the topic was read, so that its mirror could be looked for.
    is_known: bool = False
    # None until a schema record of the topic was read, or if the mirror does not exist.
    mirror: MirrorTable | None = None
    # The schema that the mirror follows.
    schema: TableSchema | None = None
    # Whether the table has no key, and so no mirror.
    is_keyless: bool = False
    # By partition, the end of what was read without a commit, because nothing was to be applied.
    cursor: dict[int, int] = field(default_factory=dict)


def path_of(schema: TableSchema) -> str:
    """Return the path of a table's mirror."""
    return table_path(schema.database, schema.table)


class TopicStates:
    """The topics that had records; a mirror is looked at when its topic first has some."""

    def __init__(self, storage: Storage, base: str, registry: SchemaRegistry) -> None:
        """Look for mirrors in `storage`, whose root is `base`."""
        self._storage = storage
        self._base = base
        self._registry = registry
        self._states: dict[str, TopicState] = {}

    def of(self, topic: str) -> TopicState:
        """Return the state of `topic`.

        Raises MirrorError if something else is at the place of its mirror.
        """
        state = self._states.get(topic)
        if state is None or not state.is_known:
            cursor = {} if state is None else state.cursor
            state = self._states[topic] = self._load(topic)
            state.cursor = cursor
        return state

    def forget(self, topic: str) -> None:
        """Look at the mirror again for the next batch."""
        self._states.pop(topic, None)

    def _load(self, topic: str) -> TopicState:
        history = self._registry.history(topic)
        if not history:
            self._registry.refresh()
            history = self._registry.history(topic)
        state = TopicState(topic, is_known=bool(history))
        if history:
            newest = history[-1]
            path = path_of(newest)
            state.mirror = MirrorTable.open(self._storage, path, newest.name, self._base)
            state.is_keyless = state.mirror is None and not newest.key
        if state.mirror is not None:
            schema_id = state.mirror.progress.schema_id
            state.schema = self._registry.require(topic, {schema_id})[schema_id]
        return state
