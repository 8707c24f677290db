"""Which tables of a job are to be loaded, and how far the loads are: what its batches ask.

A table is to be loaded if the state of its copy names a load that its mirror has not completed. Its
topic is left alone until all rows are read, and then applied from the watermark on, up to what the
last SELECT may have seen.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from connector.binlog.gtid import contains_all, parse_gtid_set
from connector.foundation.contract import row_topic
from connector.foundation.errors.message import Message
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.table_loading import WantedLoad
from stream_jobs.tables.load_state import SourceMoment, TableLoad

if TYPE_CHECKING:
    from stream_jobs.cuts.state_topics import DeliveredPosition, ProgressTopic, SnapshotTopic
    from stream_jobs.tables.mirror_context import MirrorContext
    from stream_jobs.tables.topic_state import TopicStates

_LOADING: Final = "its first rows are being loaded"


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
        self._complete: dict[tuple[str, str], str] = {}
        self._wanted: dict[str, WantedLoad] = {}
        self._names: dict[str, str] = {}
        # Topics whose rows are all read since the last look at their mirrors.
        self._finished: set[str] = set()
        self.problems: dict[str, Message] = {}

    def held(self) -> frozenset[str]:
        """Return the topics that are not applied, because rows of their tables are missing.

        Raises MirrorError if Kafka or the storage fails.
        """
        loads = self._copies.loads()
        wanted: dict[str, WantedLoad] = {}
        names: dict[str, str] = {}
        for (database, table), id_ in loads.items():
            if self._complete.get((database, table)) == id_:
                continue
            topic = row_topic(self._services.registry.prefix, database, table)
            with self._lock:
                if topic in self._finished:
                    self._finished.discard(topic)
                    self._states.forget(topic)
            try:
                state = self._states.of(topic)
            except MirrorError as error:
                # The next batch would meet it, too.
                names[topic] = f"{database}.{table}"
                self.note(topic, error.message)
                continue
            if state.is_skipped:
                continue
            load = None if state.mirror is None else state.mirror.progress.load
            if load is not None and (load.id, load.phase) == (id_, "complete"):
                self._complete[database, table] = id_
                continue
            names[topic] = name = f"{database}.{table}"
            if not self._knows_source:
                self.note(topic, Message(load_errors.NO_SOURCE, {"table": name}))
            history = self._services.registry.history(topic)
            if history:
                wanted[topic] = WantedLoad(topic, history[-1], id_, state.mode)
        with self._lock:
            self._wanted, self._names = wanted, names
        return frozenset(names)

    def left_out(self) -> dict[str, tuple[str, str]]:
        """Return by topic the tables whose rows are missing: their names, and why."""
        with self._lock:
            problems = self.problems
            return {
                topic: (name, problems[topic].text if topic in problems else _LOADING)
                for topic, name in self._names.items()
            }

    def name(self, topic: str) -> str:
        """Return `database.table`; the topic of a table that is not loaded any more."""
        with self._lock:
            return self._names.get(topic, topic)

    def wanted(self) -> dict[str, WantedLoad]:
        """Return by topic the tables that are to be loaded, as of the last look."""
        with self._lock:
            return dict(self._wanted)

    def catching_up(self) -> dict[str, TableLoad]:
        """Return by topic the loads that have all rows, and whose topic is to be applied."""
        loads = {}
        for topic in self.held():
            mirror = self._states.of(topic).mirror
            load = None if mirror is None else mirror.progress.load
            if load is not None and load.phase == "catching up":
                loads[topic] = load
        return loads

    def reading(self) -> frozenset[str]:
        """Return the topics that must not be applied yet: rows of their tables are not read."""
        return self.held() - self.catching_up().keys()

    def complete(self, topic: str) -> None:
        """Commit that nothing is missing in a table any more."""
        own = self._states.of(topic).mirror
        assert own is not None
        own.commit_load_end()

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

    def note(self, topic: str, problem: Message | None) -> None:
        """Note why the load of a table waits, or that it goes on."""
        with self._lock:
            problems = {key: own for key, own in self.problems.items() if key != topic}
            self.problems = problems if problem is None else {**problems, topic: problem}

    def moment(self) -> DeliveredPosition | None:
        """Return the newest moment up to which the topics have everything."""
        moment = self._progress.newest()
        return None if self._progress.are_several else moment


def has_passed(delivered: DeliveredPosition, end: SourceMoment) -> bool:
    """Return whether the topics have everything that SELECTs before `end` have seen."""
    if delivered.gtid is not None and end.gtid is not None and delivered.flavour == end.flavour:
        known, wanted = (parse_gtid_set(own, end.flavour) for own in (delivered.gtid, end.gtid))
        return contains_all(known, wanted)
    same = delivered.server_uuid == end.server
    return same and _place(delivered.position) >= _place(end.position)


def _place(position: str) -> tuple[int, int]:
    file, _, offset = position.rpartition(":")
    return (int(file.rpartition(".")[2]), int(offset)) if file else (0, 0)
