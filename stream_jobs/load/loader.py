"""The thread that loads tables, beside the batches of the others.

Each range is a Spark job of one task. How many ranges are read at a time at a server is its pace.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final, Self

from connector.foundation import errors
from connector.foundation.errors.message import Message
from connector.foundation.formatting import listed
from connector.foundation.operating_system import CLOCK
from connector.replication.read_pace import CHUNK_SECONDS
from connector.stream.snapshot.source_pace import Read
from connector.stream.source.select_session import SelectSession
from stream_jobs.apply.table_failures import DEFECT_TYPES, table_defect
from stream_jobs.apply.task_messages import Task
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.errors import CommitConflict, MirrorError, StopRequested, delta_errors
from stream_jobs.load import load_errors, table_loading
from stream_jobs.load.range_task import RangeJob, RangeResult, is_of_server, open_session
from stream_jobs.load.server_state import (
    LAG_SECONDS,
    current_moment,
    in_words_of_url,
    is_replica,
    own_gtids,
    refuse_own_transactions,
)
from stream_jobs.load.source_server import SourceServer, Teller
from stream_jobs.load.source_servers import RETRY_SECONDS, LoadPlan, SourceServers
from stream_jobs.load.table_loads import TableLoads
from stream_jobs.tables.driver_view import as_seen_here
from stream_jobs.tables.load_state import SourceMoment
from stream_jobs.tables.mirror_context import MirrorContext

RangeRunner = Callable[[RangeJob], RangeResult]

# The schema record of an altered table comes soon; a mirror that others have changed is there.
_ALTERED_SECONDS: Final = 1.0
_IDLE_SECONDS: Final = 0.2
_TELL_SECONDS: Final = 30.0
# Loads begin at one moment for so long: no replica of a busy source has the newest one. One that
# does not have it by then is left out.
_MOMENT_SECONDS: Final = 2.0 * LAG_SECONDS


class Loader:
    """The thread that loads tables; a context manager starts and ends it."""

    def __init__(
        self,
        services: MirrorContext,
        loads: TableLoads,
        template: Task,
        plan: LoadPlan,
        run: RangeRunner,
        check_owner: Callable[[], None],
        tell: Teller,
    ) -> None:
        """Load the tables of `loads` as `plan` says; `run` runs a range somewhere.

        `check_owner` raises if another process has taken the mirror. `tell` gets the name of an
        event and its fields.
        """
        self._tell = tell
        self._told_at = CLOCK.monotonic()
        self._services = services
        self._loads = loads
        self._template = template
        self._plan = plan
        self._run = run
        self._check_owner = check_owner
        self._closing = threading.Event()
        # Set when there may be something to hand out.
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._work, name="first-load", daemon=True)
        self._open: dict[str, table_loading.TableLoading] = {}
        # Topics whose loads begin, each in the thread of a server.
        self._opening: set[str] = set()
        self._not_before: dict[str, float] = {}
        # Topics at which a session broke when their loads began, and no load has begun since.
        self._suspects: set[str] = set()
        # The moment at which loads begin, and when it was the newest one.
        self._moment: DeliveredPosition | None = None
        self._moment_at = 0.0
        self._slots = threading.Semaphore(plan.settings.connections)
        self._servers = SourceServers(plan, tell)

    def __enter__(self) -> Self:
        """Begin to load."""
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Read no more ranges, and wait for those that are being read."""
        self._closing.set()
        self._news.set()
        self._thread.join()

    def _work(self) -> None:
        with ThreadPoolExecutor(self._plan.settings.connections) as pool:
            has_failed = False
            while not self._closing.is_set():
                try:
                    if has_failed:
                        # A range may wait for a thread that could not be started.
                        pool.submit(bool)
                    is_idle, has_failed = not self._step(pool), False
                except Exception as error:  # noqa: BLE001 - the thread of all loads would end
                    is_idle = has_failed = True
                    topics = list(self._loads.wanted())
                    self._put_off(topics, table_defect(listed(topics), error).message)
                if is_idle:
                    self._news.wait(_IDLE_SECONDS)
                    self._news.clear()
        self._servers.close()
        while self._opening:
            self._news.wait(_IDLE_SECONDS)
            self._news.clear()

    def _step(self, pool: ThreadPoolExecutor) -> bool:
        """Hand out one range; return whether there was one."""
        self._open_wanted()
        self._tell_progress()
        if not self._slots.acquire(blocking=False):
            return False
        taken = self._next_range()
        if taken is None:
            self._slots.release()
            return False
        loading, place = taken
        with ExitStack() as stack:
            stack.callback(self._slots.release)
            stack.callback(loading.leave_part, place)
            try:
                watermark, kind = loading.load.watermark, loading.wanted.topic
                server = self._servers.with_room(watermark, self._loads.moment, self._closing)
                if server is None:
                    return True
            except errors.ConnectorError as error:
                self._put_off([loading.wanted.topic], error.message)
                return True
            read = stack.enter_context(server.pace.read(None, self._closing, kind))
            pool.submit(self._load, loading, place, server, read, stack.pop_all())
        return True

    def _tell_progress(self) -> None:
        now = CLOCK.monotonic()
        if now - self._told_at < _TELL_SECONDS:
            return
        self._told_at = now
        for loading in list(self._open.values()):
            load = loading.load
            if load.phase == "reading":
                name = loading.wanted.schema.name
                self._tell(
                    "loading", table=name, rows=load.rows, estimated_rows=load.estimated_rows
                )

    def _open_wanted(self) -> None:
        """Begin loads, or go on with them, until there is enough to read for all connections."""
        wanted = self._loads.wanted()
        for topic, loading in list(self._open.items()):
            own = wanted.get(topic)
            is_over = own is not None and own.is_again and loading.load.phase != "reading"
            if own is None or own.id != loading.wanted.id or is_over:
                self._open.pop(topic, None)
        now = CLOCK.monotonic()
        due = [
            topic
            for topic in wanted
            # In this order: a load that has begun is open first, and then opens no more.
            if topic not in self._opening
            and topic not in self._open
            and self._not_before.get(topic, 0.0) <= now
        ]
        if not due or self._has_enough():
            self._moment = None
            return
        try:
            moment = self._moment_to_begin_at(now)
            if moment is None:
                # Nothing was delivered yet.
                return
            servers = self._servers.ready(moment, self._loads.moment)
        except errors.ConnectorError as error:
            self._moment = None
            self._put_off(due, error.message)
            return
        free = (server for server in servers if server.question is None)
        for topic, server in zip(due, free, strict=False):
            self._servers.take_back(server)
            self._opening.add(topic)
            try:
                server.ask(partial(self._begin, wanted[topic], server, moment))
            except BaseException:
                self._opening.discard(topic)
                raise

    def _moment_to_begin_at(self, now: float) -> DeliveredPosition | None:
        if self._moment is None or now - self._moment_at > _MOMENT_SECONDS:
            self._moment, self._moment_at = self._loads.moment(), now
        return self._moment

    def _has_enough(self) -> bool:
        """Return whether each connection could read another table."""
        reading = sum(loading.load.phase == "reading" for loading in list(self._open.values()))
        return reading + len(self._opening) >= self._plan.settings.connections

    def _begin(
        self,
        wanted: table_loading.WantedLoad,
        server: SourceServer,
        moment: DeliveredPosition,
    ) -> None:
        """Begin the load of a table, or go on with it, as a question to a server."""
        topic = wanted.topic
        try:
            # After a failover, the newest moment has the transactions of the new source.
            newest = self._loads.moment() or moment
            self._open_load(wanted, self._servers.join(server, newest), moment)
            self._suspects.discard(topic)
        except StopRequested:
            return
        except errors.ConnectorError as error:
            if self._closing.is_set():
                return
            if not self._begins_elsewhere(topic, server, error):
                self._put_off([topic], error.message)
        except DEFECT_TYPES as error:
            self._put_off([topic], table_defect(topic, error).message)
        finally:
            self._opening.discard(topic)
            self._news.set()

    def _begins_elsewhere(
        self, topic: str, server: SourceServer, error: errors.ConnectorError
    ) -> bool:
        """Leave out a server whose error it is; return whether the load begins at another one.

        If a second session breaks for one table, it is the table that breaks them.
        """
        if not is_of_server(error):
            return False
        # Else, its session was ended when it was left out.
        is_broken = isinstance(error, errors.SourceUnavailable) and self._servers.is_read(server)
        if is_broken and topic in self._suspects:
            return False
        if is_broken:
            self._suspects.add(topic)
        return self._servers.leave_out(server, error.message)

    def _open_load(
        self, wanted: table_loading.WantedLoad, session: SelectSession, moment: DeliveredPosition
    ) -> None:
        loading = table_loading.opened_loading(
            self._services,
            wanted,
            session,
            moment,
            self._check_owner,
            self._plan.settings,
            self._plan.range_rows,
        )
        if loading is None:
            return
        self._loads.note([wanted.topic], None)
        self._open[wanted.topic] = loading
        if loading.load.phase != "reading":
            self._loads.finish(wanted.topic)

    def _next_range(self) -> tuple[table_loading.TableLoading, int] | None:
        for loading in list(self._open.values()):
            if loading.load.phase != "reading":
                continue
            place = loading.take_part()
            if place is not None:
                return loading, place
        return None

    def _load(
        self,
        loading: table_loading.TableLoading,
        place: int,
        server: SourceServer,
        read: Read,
        turn: ExitStack,
    ) -> None:
        """Read a range in a task, and commit it."""
        topic = loading.wanted.topic
        with turn:
            try:
                # If this fails, nobody knows how long the task has read.
                read.unpaid_seconds = CHUNK_SECONDS
                result = self._run(self._job(loading, place, server, read.statement_rows))
                read.rows, read.own_rest_seconds = result.rows, result.rested_seconds
                read.unpaid_seconds = result.unpaid_seconds
                problem = self._problem_of_server(server, result)
                if problem is None:
                    self._take(loading, place, result)
                    return
                self._delete(loading, result)
                if not self._servers.leave_out(server, problem):
                    self._put_off([topic], problem)
            except StopRequested:
                # The next run reads the range again.
                return
            except errors.ConnectorError as error:
                self._put_off([topic], error.message)
            except Exception as error:  # noqa: BLE001 - Spark's errors have many types
                self._put_off([topic], table_defect(topic, error).message)

    def _problem_of_server(self, server: SourceServer, result: RangeResult) -> Message | None:
        """Return why the range was not, or should not have been, read at the server."""
        if result.is_of_server:
            return result.problem
        moment = self._loads.moment()
        if result.seen is None or moment is None:
            return None
        if result.filters and is_replica(result.server, moment):
            facts = {"server": f"source {server.address}", "filters": result.filters}
            return Message(load_errors.FILTERS, facts)
        own = own_gtids(result.seen, result.server, moment)
        if not own:
            return None
        facts = {"server": f"source {server.address}", "gtids": own}
        return Message(load_errors.OWN_TRANSACTIONS, facts)

    def _job(
        self,
        loading: table_loading.TableLoading,
        place: int,
        server: SourceServer,
        statement_rows: int,
    ) -> RangeJob:
        wanted = loading.wanted
        # The task knows no more of the pace than what it is now.
        pace = min(1.0, server.pace.state.reads)
        return RangeJob(
            self._template,
            server.source,
            self._plan.settings,
            wanted.schema.database,
            wanted.schema.table,
            loading.own.facts(wanted.schema, {}),
            loading.load,
            place,
            self._plan.range_rows,
            statement_rows,
            1 / pace - 1,
        )

    def _take(self, loading: table_loading.TableLoading, place: int, result: RangeResult) -> None:
        topic, name = loading.wanted.topic, loading.wanted.schema.name
        if result.is_changed:
            raise MirrorError(load_errors.NO_SUCH_COLUMNS, table=name)
        if result.problem is not None:
            self._put_off([topic], result.problem)
            return
        try:
            loading.commit(place, result, self._end)
        except (CommitConflict, StopRequested):
            # After another error, the commit may be there.
            self._delete(loading, result)
            raise
        if loading.load.phase != "reading":
            self._tell("loaded", table=name, rows=loading.load.rows)
            self._loads.finish(topic)

    def _delete(self, loading: table_loading.TableLoading, result: RangeResult) -> None:
        """Delete files that no commit will name."""
        for file in result.files:
            with suppress(errors.ConnectorError):
                self._services.storage.delete(f"{loading.own.delta.path}/{file.location}")

    def _end(self) -> SourceMoment:
        """Return what the only server has executed; of several, GTIDs tell it."""
        moment = self._loads.moment()
        with open_session(self._servers.first.source, self._plan.settings) as session:
            if moment is not None:
                refuse_own_transactions(session, moment)
            return current_moment(session)

    def _put_off(self, topics: Sequence[str], problem: Message) -> None:
        """Open the loads of tables again later; say why, once for a reason."""
        missed = None
        if problem.code == delta_errors.FOLDER_GONE:
            missed = MirrorError(problem.code, **problem.facts)
            missed = as_seen_here(missed, self._services.storage)
            problem = missed.message
        problem = in_words_of_url(problem)
        known, names = self._loads.problems, self._loads.wanted()
        new = [
            names[topic].schema.name
            for topic in topics
            if topic in names
            and ((own := known.get(topic)) is None or own.shown_code is not problem.shown_code)
        ]
        if new:
            self._tell("load_waits", tables=new, **errors.fields(problem))
        self._loads.note(topics, problem)
        if missed is not None and missed.code == delta_errors.FOLDER_GONE:
            for topic in topics:
                self._loads.miss(topic, missed)
        is_altered = problem.code in (load_errors.NO_SUCH_COLUMNS, delta_errors.COMMIT_CONFLICT)
        pause = _ALTERED_SECONDS if is_altered else RETRY_SECONDS
        until = CLOCK.monotonic() + pause
        for topic in topics:
            self._not_before[topic] = until
            self._open.pop(topic, None)
