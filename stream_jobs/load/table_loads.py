"""Which tables of a job are to be loaded, and how far the loads are: what its batches ask.

A table is to be loaded if the state of its copy names a load that its mirror has not completed. Its
topic is left alone until all rows are read, and then applied from the watermark on, up to what the
last SELECT may have seen.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from connector.binlog.gtid import contains_all, has_reached, parse_gtid_set
from connector.foundation.contract import row_topic
from connector.foundation.errors.message import Message
from connector.stream.snapshot.watermark import LogPosition
from stream_jobs.cuts.state_topics import DeliveredPosition, ProgressTopic, SnapshotTopic
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.table_loading import WantedLoad, has_gtids, is_on_earlier_server
from stream_jobs.tables.load_state import SourceMoment, TableLoad
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.mirror_creation import mirror_gone
from stream_jobs.tables.table_work import TableWork
from stream_jobs.tables.topic_state import TopicState, TopicStates

_LOADING: Final = "its first rows are being loaded"


class _Look:
    """What the batches have seen at one moment, by topic; nobody changes it then."""

    def __init__(self) -> None:
        # `database.table` of the tables whose rows are missing.
        self.names: dict[str, str] = {}
        self.wanted: dict[str, WantedLoad] = {}
        # Loads that have all rows, and whose topic is to be applied.
        self.catching_up: dict[str, TableLoad] = {}
        # Why nobody can load a table.
        self.refused: dict[str, Message] = {}
        # Tables whose mirrors somebody has taken away; the batches set them aside.
        self.lost: dict[str, MirrorError] = {}


class TableLoads:
    """The tables of a job that are to be loaded; its batches and one thread use it."""

    def __init__(
        self,
        services: MirrorContext,
        states: TopicStates,
        copies: SnapshotTopic,
        progress: ProgressTopic,
        *,
        knows_source: bool,
    ) -> None:
        """Follow the states of `copies`; loads begin at records of `progress`.

        `knows_source` says whether somebody loads the tables.
        """
        self._knows_source = knows_source
        self._services = services
        self._states = states
        self._copies = copies
        self._progress = progress
        self._lock = threading.Lock()
        # Of `progress`, which several threads ask.
        self._asking = threading.Lock()
        self._complete: dict[tuple[str, str], str] = {}
        self._seen = _Look()
        # Topics whose rows are all read since the last look at their mirrors.
        self._finished: set[str] = set()
        # Topics whose loads begin again although all rows were read; no batch applies them until
        # the thread has decided.
        self._again: set[str] = set()
        # By topic, why the thread has put a load off.
        self._problems: dict[str, Message] = {}
        # Mirrors that the thread has missed, until their tables are set aside.
        self._missed: dict[str, MirrorError] = {}
        # Whether the table of a topic is set aside: nothing is made for it until it is resumed.
        self.is_set_aside: Callable[[str], bool] = lambda _: False

    def held(self) -> frozenset[str]:
        """Look which topics are not applied, because rows of their tables are missing.

        Raises MirrorError if Kafka or the storage fails.
        """
        prefix, registry = self._services.registry.prefix, self._services.registry
        left = {
            row_topic(prefix, *table): (table, id_)
            for table, id_ in self._copies.loads().items()
            if self._complete.get(table) != id_
        }
        with self._lock:
            finished, self._finished = self._finished, set()
        self._again -= finished
        for topic in finished:
            self._states.forget(topic)
        if any(not registry.history(topic) for topic in left):
            registry.refresh()
        known = {topic for topic in left if registry.history(topic)}
        self._states.open(sorted(known))
        seen = _Look()
        for topic, (table, id_) in left.items():
            state = self._state(topic) if topic in known else None
            if not self._note(seen, topic, ".".join(table), id_, state):
                self._complete[table] = id_
        with self._lock:
            self._seen = seen
        return frozenset(seen.names)

    def _state(self, topic: str) -> TopicState | MirrorError:
        try:
            return self._states.of(topic)
        except MirrorError as error:
            return error

    def _note(
        self, seen: _Look, topic: str, name: str, id_: str, state: TopicState | MirrorError | None
    ) -> bool:
        """Note how far the load of a table is; return false if it is complete.

        Without a `state`, the columns of the table are not known.
        """
        if isinstance(state, MirrorError):
            # The next batch would meet it, too.
            seen.refused[topic] = state.message
        elif state is not None and state.is_skipped:
            return True
        elif state is not None:
            load = None if state.mirror is None else state.mirror.progress.load
            if load is not None and load.is_complete(id_):
                return False
            is_read = load is not None and (load.id, load.phase) == (id_, "catching up")
            if load is not None and is_read and not self._begins_again(topic, load):
                seen.catching_up[topic] = load
            elif self.is_set_aside(topic):
                with self._lock:
                    self._missed.pop(topic, None)
            elif state.is_mirror_lost:
                seen.lost[topic] = mirror_gone(
                    self._services, self._services.registry.newest(topic)
                )
            elif (problem := self._refusal(name)) is not None:
                seen.refused[topic] = problem
            else:
                newest = self._services.registry.newest(topic)
                seen.wanted[topic] = WantedLoad(
                    topic, newest, id_, state.mode, state.merged, topic in self._again
                )
        seen.names[topic] = name
        return True

    def _begins_again(self, topic: str, load: TableLoad) -> bool:
        """Return whether the end of a load belongs to a server that the connector has left."""
        if topic not in self._again and load.end is not None:
            moment = self.moment()
            if moment is not None and is_on_earlier_server(load.end, moment):
                self._again.add(topic)
        return topic in self._again

    def _refusal(self, name: str) -> Message | None:
        return None if self._knows_source else Message(load_errors.NO_SOURCE, {"table": name})

    def left_out(self) -> dict[str, tuple[str, str]]:
        """Return by topic the tables whose rows are missing: their names, and why."""
        problems = self.problems
        return {
            topic: (name, problems[topic].text if topic in problems else _LOADING)
            for topic, name in self._look().names.items()
        }

    @property
    def topics(self) -> frozenset[str]:
        """The topics of these tables, as of the last look."""
        return frozenset(self._look().names)

    @property
    def refused(self) -> dict[str, Message]:
        """Why nobody can load some of them, by `database.table`."""
        seen = self._look()
        return {seen.names[topic]: problem for topic, problem in seen.refused.items()}

    @property
    def problems(self) -> dict[str, Message]:
        """By topic, why loads wait."""
        with self._lock:
            lost = {topic: error.message for topic, error in self._seen.lost.items()}
            return {**self._problems, **self._seen.refused, **lost}

    @property
    def lost(self) -> dict[str, MirrorError]:
        """By topic, what is said of mirrors that are missed, until their tables are set aside."""
        with self._lock:
            lost = {**self._seen.lost, **self._missed}
        return {topic: error for topic, error in lost.items() if not self.is_set_aside(topic)}

    def wanted(self) -> Mapping[str, WantedLoad]:
        """Return by topic the tables that are to be loaded, as of the last look."""
        with self._lock:
            wanted, missed = self._seen.wanted, self._missed.keys()
            return {t: own for t, own in wanted.items() if t not in missed} if missed else wanted

    def catching_up(self) -> dict[str, TableLoad]:
        """Look which loads have all rows, and return them by topic: theirs is to be applied."""
        self.held()
        return dict(self._look().catching_up)

    def reading(self) -> frozenset[str]:
        """Look which topics must not be applied yet: rows of their tables are not read."""
        return self.held() - self._look().catching_up.keys()

    def is_loaded(self, topic: str) -> bool:
        """Return whether a new mirror of the table gets its rows from the source."""
        prefix = self._services.registry.prefix
        return any(row_topic(prefix, *table) == topic for table in self._copies.loads())

    def leave_replaced(self, state: TopicState) -> None:
        """If a copy through Kafka has replaced rows that were being loaded, forget the load."""
        own = state.mirror
        if own is not None and state.topic not in self._look().names:
            own.leave_load()

    def forget(self, topic: str) -> None:
        """Look at the mirror of a topic again, which was thrown away."""
        prefix = self._services.registry.prefix
        self._complete = {
            table: id_
            for table, id_ in self._complete.items()
            if row_topic(prefix, *table) != topic
        }

    def finish(self, topic: str) -> None:
        """Note that all rows of a table are read."""
        with self._lock:
            self._finished.add(topic)

    def miss(self, topic: str, error: MirrorError) -> None:
        """Note that somebody has taken away the mirror of a table that is being loaded."""
        with self._lock:
            self._missed[topic] = error

    def end(
        self,
        every: Sequence[TableWork],
        loads: Mapping[str, TableLoad],
        delivered: DeliveredPosition | None,
    ) -> None:
        """End the `loads` of tables that miss nothing of what was `delivered`.

        The topics have all that was read then.
        """
        for work in every:
            load = loads.get(work.topic)
            if load is None or load.end is None or delivered is None:
                continue
            if work.ranges.has_come and has_passed(delivered, load.end):
                work.end_load()

    def note(self, topics: Iterable[str], problem: Message | None) -> None:
        """Note why loads wait, or that they go on."""
        with self._lock:
            for topic in topics:
                if problem is None:
                    self._problems.pop(topic, None)
                else:
                    self._problems[topic] = problem

    def moment(self) -> DeliveredPosition | None:
        """Return the newest moment up to which the topics have everything."""
        with self._asking:
            moment = self._progress.newest()
            return None if self._progress.are_several else moment

    def _look(self) -> _Look:
        with self._lock:
            return self._seen


def has_passed(delivered: DeliveredPosition, end: SourceMoment) -> bool:
    """Return whether the topics have everything that SELECTs before `end` have seen."""
    same = delivered.server_uuid == end.server
    if has_gtids(end, delivered):
        both = (delivered.gtid or "", end.gtid or "")
        known, wanted = (parse_gtid_set(own, end.flavour) for own in both)
        if not same or end.flavour == "mysql":
            return contains_all(known, wanted)
        if has_reached(known, wanted):
            return True
    return same and _place(delivered.position) >= _place(end.position)


def _place(position: str) -> LogPosition:
    return LogPosition.parse(position) or LogPosition(0, 0)
