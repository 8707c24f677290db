"""The state of each topic that the driver keeps between batches, and the offsets of all mirrors.

A new checkpoint begins at the offsets that the mirrors hold themselves (`MirrorOffsets`).
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from stream_jobs.apply.modes import MODES
from stream_jobs.apply.modes.mode import Mode
from stream_jobs.apply.table_failures import DEFECT_TYPES
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors, setting_errors, shard_errors
from stream_jobs.paths import table_path
from stream_jobs.settings import TableSettings
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.source.topics import Offsets, nest_offsets
from stream_jobs.tables.merged_table import MergedTable, MergedTables
from stream_jobs.tables.mirror_metadata import refuse_other_choices, refuse_other_mode
from stream_jobs.tables.mirror_table import MirrorTable, mirror_path
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.table_options import TableOptionsResolver


@dataclass(slots=True)
class TopicState:
    """A topic, its table, and its mirror."""

    topic: str
    # In hex; "" if the brokers have not said it.
    topic_id: str = ""
    # Whether a schema record of the topic was read, so that its mirror could be looked for.
    is_known: bool = False
    # None until a schema record of the topic was read, or if the mirror does not exist.
    mirror: MirrorTable | None = None
    # Whether there is none, although the newest cut has one.
    is_mirror_lost: bool = False
    # The mirror that the table shares with others, also if it has no rows there.
    merged: MergedTable | None = None
    # The schema that the mirror follows.
    schema: TableSchema | None = None
    # Whether the table has no key that its mode needs, and so no mirror.
    is_keyless: bool = False
    # Whether the table has no mirror by choice.
    is_skipped: bool = False
    # What was chosen for the table; None until a schema record of the topic was read.
    settings: TableSettings | None = None
    # By partition, the end of what was read without a commit, because nothing was to be applied.
    cursor: dict[int, int] = field(default_factory=dict)

    @property
    def mode(self) -> Mode:
        """What the mirror holds of the table."""
        return MODES["current" if self.settings is None else self.settings.mode]


def path_of(schema: TableSchema) -> str:
    """Return the path of a mirror that is not there yet."""
    return table_path(*schema.place)


def path_in(storage: Storage, schema: TableSchema) -> str:
    """Return the path of a table's mirror, which may be there."""
    return mirror_path(storage, *schema.place)


# A bucket answers slowly, but many questions at the same time.
_THREADS: Final = 16


class TopicStates:
    """The topics that had records; a mirror is looked at when its topic first has some."""

    def __init__(
        self,
        storage: Storage,
        base: str,
        registry: SchemaRegistry,
        choices: TableOptionsResolver,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Look for mirrors in `storage`, whose root is `base`; tables have `choices`.

        `is_stopping` says whether the job is to stop.
        """
        self._storage = storage
        self._base = base
        self._registry = registry
        self._choices = choices
        self._states: dict[str, TopicState] = {}
        self.merged = MergedTables(storage, is_stopping)
        # Whether the newest cut has a table, by its name; a job with cuts knows it.
        self.is_in_cut: Callable[[str], bool] = lambda _: False
        # Whether they have shards in the same tables.
        self.has_other_pipelines = choices.is_shared

    def of(self, topic: str) -> TopicState:
        """Return the state of `topic`.

        Kafka is asked for its column list at the first look; later, `open` asks. Raises MirrorError
        if something else is at the place of its mirror.
        """
        state = self._states.get(topic)
        if state is None and not self._registry.history(topic):
            self._registry.refresh()
        if state is None or (not state.is_known and self._registry.history(topic)):
            cursor = {} if state is None else state.cursor
            state = self._states[topic] = self._load(topic)
            state.cursor = cursor
        return state

    def open(self, topics: Iterable[str]) -> None:
        """Look at the mirrors of `topics` together, so that `of` knows them.

        Kafka is asked once for column lists, however many tables have none: those of a first copy
        that waits, for example. An error is left to `of`, which looks again.
        """
        unknown = [topic for topic in topics if not self._is_known(topic)]
        if not all(map(self._registry.history, unknown)):
            try:
                self._registry.refresh()
            except MirrorError:
                for topic in unknown:
                    self.forget(topic)
                return
        found = [topic for topic in unknown if self._registry.history(topic)]
        for topic in unknown if len(found) < len(unknown) else ():
            self._states.setdefault(topic, TopicState(topic))
        if len(found) > 1:
            with ThreadPoolExecutor(_THREADS) as pool:
                list(pool.map(self._try, found))

    def _is_known(self, topic: str) -> bool:
        state = self._states.get(topic)
        return state is not None and state.is_known

    def _try(self, topic: str) -> None:
        with suppress(MirrorError, *DEFECT_TYPES):
            self.of(topic)

    def offsets(self) -> dict[str, dict[int, int]]:
        """Return by topic and partition the first record that a known mirror lacks.

        Any thread may ask.
        """
        mirrors = {topic: state.mirror for topic, state in self._states.copy().items()}
        return {
            topic: dict(mirror.progress.offsets)
            for topic, mirror in mirrors.items()
            if mirror is not None
        }

    def sync(self, topics: Iterable[str]) -> None:
        """Return when a loss of power cannot take commits of mirrors back any more.

        Any thread may ask. Raises MirrorError if the storage fails.
        """
        for topic in sorted(topics):
            state = self._states.get(topic)
            if state is not None and (mirror := state.mirror) is not None:
                for folder in (mirror.delta.path, f"{mirror.delta.path}/_delta_log"):
                    self._storage.sync(folder)

    def name(self, topic: str) -> str:
        """Return `database.table`; the topic if that is not known."""
        history = self._registry.history(topic)
        return history[-1].name if history else topic

    def mirror_name(self, topic: str) -> str:
        """Return `database.table` of the mirror, which shards share; the topic if not known."""
        history = self._registry.history(topic)
        return history[-1].mirror_name if history else topic

    def shared(self, topic: str) -> MergedTable | None:
        """Return the mirror that a table shares with others; None if it has one for itself."""
        history = self._registry.history(topic)
        if not history or history[-1].chosen.shard is None:
            return None
        return self.merged.at(path_in(self._storage, history[-1]))

    def forget(self, topic: str) -> None:
        """Look at the mirror again for the next batch."""
        self._states.pop(topic, None)

    def forget_missing(self, topic: str) -> None:
        """Look for the mirror again for the next batch if there was none."""
        state = self._states.get(topic)
        if state is not None and state.mirror is None:
            self.forget(topic)

    def _load(self, topic: str) -> TopicState:
        history = self._registry.history(topic)
        state = TopicState(topic, is_known=bool(history))
        if history:
            newest = history[-1]
            state.settings = self._choices.of(newest.database, newest.table)
            state.is_skipped = newest.chosen.is_skipped
            if state.is_skipped:
                return state
            newest.refuse_unfit()
            state.merged = self.shared(topic)
            state.mirror = self._mirror(newest, state.merged)
            if state.mirror is not None:
                refuse_other_mode(state.mirror.delta, state.mode, newest.name, self._base)
            state.is_keyless = state.mirror is None and state.mode.needs_key and not newest.key
            if state.mirror is None and state.merged is None:
                state.is_mirror_lost = self.is_in_cut(newest.name)
        if state.mirror is not None:
            schema_id = state.mirror.progress.schema_id
            state.schema = self._registry.require(topic, {schema_id})[schema_id]
            refuse_other_choices(state.mirror.delta, state.schema, self._base)
        return state

    def _mirror(self, newest: TableSchema, merged: MergedTable | None) -> MirrorTable | None:
        """Return the mirror of a table; raises MirrorError if other tables claim its place."""
        others, shard = self._registry.others_at(newest), newest.chosen.shard
        facts = {"others": others, "name": ".".join(newest.place)}
        twice = MirrorError(setting_errors.NAME_TWICE, table=newest.name, **facts)
        is_one_shard = shard is not None and self._registry.are_shards(newest, others)
        if shard is not None and is_one_shard:
            facts["shard"] = shard.value
            twice = MirrorError(shard_errors.SHARD_TWICE, table=newest.name, **facts)
        try:
            path = path_in(self._storage, newest)
            mirror = MirrorTable.open(self._storage, path, newest.name, self._base, shard, merged)
        except MirrorError as error:
            if others and error.code is job_errors.ANOTHER_TABLE:
                raise twice from error
            raise
        # A table alone does not keep new shards from a mirror that has some.
        is_free = merged is not None and merged.exists and not is_one_shard
        if others and mirror is None and not is_free:
            raise twice
        return mirror


@dataclass(frozen=True, slots=True)
class MirrorOffsets:
    """Finds the offsets in the mirrors; Spark sends it to the process of the stream."""

    storage: Storage
    base: str  # the root of the storage
    prefix: str
    choices: TableOptionsResolver

    def __call__(self, client: KafkaClient, topics: Iterable[str]) -> Offsets:
        """Return the offsets of those of `topics` that have a mirror.

        A mirror that cannot be read has none here: its first batch tells of it.
        """
        registry = SchemaRegistry(client, self.prefix, choices=self.choices)
        registry.refresh()
        states = TopicStates(self.storage, self.base, registry, self.choices)
        # A table without a schema record has no mirror.
        known = [topic for topic in topics if registry.history(topic)]

        def of(topic: str) -> dict[int, int]:
            try:
                mirror = states.of(topic).mirror
            except MirrorError:
                return {}
            return {} if mirror is None else dict(mirror.progress.offsets)

        states.open(known)
        pairs = [(topic, of(topic)) for topic in known]
        return nest_offsets(
            {(topic, number): at for topic, offsets in pairs for number, at in offsets.items()}
        )
