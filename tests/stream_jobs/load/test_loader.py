"""What the thread that loads tables does with the result of a range."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Event, Thread
from time import monotonic
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from connector.foundation.errors import SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.replication import dump_errors
from connector.replication.read_pace import CHUNK_SECONDS
from connector.stream.snapshot.source_pace import Read
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.load import load_errors, source_server, source_servers, table_loading
from stream_jobs.load import loader as loader_module
from stream_jobs.load.loader import Loader
from stream_jobs.load.range_task import RangeResult
from stream_jobs.load.source_servers import LoadPlan
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables.load_state import LoadPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.foundation.errors.message import Message

SOURCE, REPLICA, OTHER_REPLICA = (f"{digit * 8}-71ca-11e1-9e33-c80aa9429562" for digit in "abc")
MOMENT = DeliveredPosition("mysql", f"{SOURCE}:1-7", "", PackedSequence(0, 0), server_uuid=SOURCE)


def read_range(run: Callable[[Any], RangeResult]) -> tuple[Read, dict[str, Message]]:
    """Return the read of one range that `run` reads, and why its table was put off."""
    problems: dict[str, Message] = {}

    def note(topics: list[str], problem: Message) -> None:
        problems.update(dict.fromkeys(topics, problem))

    loads: Any = SimpleNamespace(moment=lambda: MOMENT, problems={}, wanted=dict, note=note)
    settings = SnapshotSettings(pace="full")
    plan = LoadPlan([SourceSettings(host="db", server_id=1)], settings, 100)
    services: Any = SimpleNamespace()
    loader = Loader(services, loads, services, plan, run, lambda: None, lambda *_, **__: None)
    schema = SimpleNamespace(name="shop.t", database="shop", table="t")
    loading: Any = SimpleNamespace(
        wanted=SimpleNamespace(topic="topic", schema=schema),
        own=SimpleNamespace(facts=lambda *_: None),
        load=None,
    )
    read = Read(200, lambda: True)
    loader._load(loading, 0, loader._servers.first, read, ExitStack())
    return read, problems


def test_a_task_that_is_lost_owes_one_select() -> None:
    """It may have rested for most of its time."""

    def run(_: Any) -> RangeResult:
        raise RuntimeError

    read, problems = read_range(run)
    assert read.unpaid_seconds == CHUNK_SECONDS
    assert problems.keys() == {"topic"}


@pytest.mark.parametrize("server", [SOURCE, REPLICA])
def test_rows_of_a_replica_with_filters_are_not_taken(server: str) -> None:
    filters = "Replicate_Do_DB=shop"
    result = RangeResult(
        LoadPart(),
        rested_seconds=2.0,
        unpaid_seconds=0.5,
        is_changed=server == SOURCE,
        server=server,
        seen=f"{SOURCE}:1-7",
        filters=filters,
    )
    read, problems = read_range(lambda _: result)
    assert (read.own_rest_seconds, read.unpaid_seconds) == (2.0, 0.5)
    # What is read at the source itself goes on to the next check.
    code = load_errors.NO_SUCH_COLUMNS if server == SOURCE else load_errors.FILTERS
    assert problems["topic"].code is code


def test_a_server_that_goes_silent_while_a_load_begins_delays_no_other_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And this load begins at the other server, as soon as the silence is an error."""
    began: list[tuple[str, str]] = []
    both, silence, others = Event(), Event(), Event()

    def opened(_: Any, wanted: Any, session: Any, *__: object) -> Any:
        began.append((wanted.topic, session.name))
        if len(began) > 1:
            others.set()
        if session.name == "one":
            assert silence.wait(10.0)
            raise SourceUnavailable(dump_errors.SERVER_CLOSED, server="one")
        return SimpleNamespace(wanted=wanted, load=SimpleNamespace(phase="catching up"))

    monkeypatch.setattr(table_loading, "opened_loading", opened)
    monkeypatch.setattr(source_server, "open_session", lambda own, _: session_at(own.host))
    monkeypatch.setattr(source_servers, "_ANSWER_SECONDS", 10.0)
    tables = {topic: wanted_load(topic) for topic in ("a", "b")}
    finished: list[str] = []

    def finish(topic: str) -> None:
        finished.append(topic)
        if len(finished) == len(tables):
            both.set()

    loads: Any = SimpleNamespace(
        moment=lambda: MOMENT, wanted=lambda: tables, finish=finish, problems={}
    )
    loads.note = lambda *_: None
    sources = [SourceSettings(host=host, server_id=1) for host in ("one", "two")]
    plan = LoadPlan(sources, SnapshotSettings(pace="full"), 100)
    told: list[str] = []
    nothing: Any = SimpleNamespace()
    with Loader(
        nothing, loads, nothing, plan, nothing, lambda: None, lambda event, **_: told.append(event)
    ):
        assert others.wait(10.0)
        while "b" not in finished:
            both.wait(0.01)
        assert finished == ["b"]
        silence.set()
        assert both.wait(10.0)
    assert began == [("a", "one"), ("b", "two"), ("a", "two")]
    assert told == ["load_leaves_server"]


def test_a_load_begins_at_replicas_that_are_always_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The source commits all the time, so they never have the newest moment."""

    def executed(seconds_behind: float) -> str:
        return f"{SOURCE}:1-{100 * (monotonic() - seconds_behind):.0f}"

    began = Event()

    def opened(*_: object) -> Any:
        began.set()

    monkeypatch.setattr(table_loading, "opened_loading", opened)
    monkeypatch.setattr(
        source_server, "open_session", lambda own, _: session_at(own.host, lambda: executed(1.0))
    )
    loads: Any = SimpleNamespace(
        moment=lambda: MOMENT._replace(gtid=executed(0.0)), wanted=lambda: {"a": wanted_load("a")}
    )
    sources = [SourceSettings(host=host, server_id=1) for host in ("one", "two")]
    plan = LoadPlan(sources, SnapshotSettings(pace="full"), 100)
    nothing: Any = SimpleNamespace()
    with Loader(nothing, loads, nothing, plan, nothing, lambda: None, lambda *_, **__: None):
        assert began.wait(10.0)


def test_a_load_begins_at_a_server_that_has_just_become_the_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its transactions are no longer its own, though the load begins at an earlier moment."""
    began = Event()

    def opened(*_: object) -> Any:
        began.set()

    gtid = f"{SOURCE}:1-7,{REPLICA}:1"
    monkeypatch.setattr(table_loading, "opened_loading", opened)
    monkeypatch.setattr(
        source_server, "open_session", lambda own, _: session_at(own.host, lambda: gtid)
    )
    later = MOMENT._replace(gtid=gtid, server_uuid=REPLICA)
    moments = iter([MOMENT])
    loads: Any = SimpleNamespace(
        moment=lambda: next(moments, later), wanted=lambda: {"a": wanted_load("a")}, problems={}
    )
    loads.note = lambda *_: None
    plan = LoadPlan([SourceSettings(host="two", server_id=1)], SnapshotSettings(pace="full"), 100)
    nothing: Any = SimpleNamespace()
    with Loader(nothing, loads, nothing, plan, nothing, lambda: None, lambda *_, **__: None):
        assert began.wait(10.0)


def test_a_table_that_breaks_sessions_is_put_off_and_takes_one_server_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[str] = []
    is_put_off = Event()

    def opened(_: Any, __: Any, session: Any, *___: object) -> Any:
        began.append(session.name)
        raise SourceUnavailable(dump_errors.SERVER_CLOSED, server=session.name)

    monkeypatch.setattr(table_loading, "opened_loading", opened)
    monkeypatch.setattr(source_server, "open_session", lambda own, _: session_at(own.host))
    monkeypatch.setattr(source_servers, "_ANSWER_SECONDS", 10.0)
    put_off: list[tuple[list[str], Any]] = []

    def note(topics: list[str], problem: Any) -> None:
        put_off.append((topics, problem.code))
        is_put_off.set()

    loads: Any = SimpleNamespace(
        moment=lambda: MOMENT, wanted=lambda: {"a": wanted_load("a")}, problems={}, note=note
    )
    sources = [SourceSettings(host=host, server_id=1) for host in ("one", "two", "three")]
    plan = LoadPlan(sources, SnapshotSettings(pace="full"), 100)
    nothing: Any = SimpleNamespace()
    told: list[str] = []
    with Loader(
        nothing, loads, nothing, plan, nothing, lambda: None, lambda event, **_: told.append(event)
    ):
        assert is_put_off.wait(10.0)
    assert len(began) == 2
    assert put_off == [(["a"], dump_errors.SERVER_CLOSED)]
    assert told == ["load_leaves_server", "load_waits"]


def test_a_machine_that_starts_no_thread_for_a_while_ends_no_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither for a look at a server, nor for the beginning of a load."""
    over = Event()
    whole, starts = Thread.start, [0]

    def start(thread: Thread) -> None:
        if thread.name == "first-load one:3306":
            starts[0] += 1
            # The first look, and then the beginning of the load.
            if starts[0] in {1, 3}:
                raise RuntimeError
        whole(thread)

    def opened(_: Any, wanted: Any, *__: object) -> Any:
        return SimpleNamespace(wanted=wanted, load=SimpleNamespace(phase="catching up"))

    monkeypatch.setattr(Thread, "start", start)
    monkeypatch.setattr(table_loading, "opened_loading", opened)
    monkeypatch.setattr(source_server, "open_session", lambda own, _: session_at(own.host))
    monkeypatch.setattr(loader_module, "RETRY_SECONDS", 0.01)
    problems: dict[str, Message] = {}

    def note(topics: list[str], problem: Message | None) -> None:
        problems.update({} if problem is None else dict.fromkeys(topics, problem))

    tables = {"a": wanted_load("a")}
    loads: Any = SimpleNamespace(moment=lambda: MOMENT, wanted=lambda: tables, problems=problems)
    loads.note, loads.finish = note, lambda _: over.set()
    plan = LoadPlan([SourceSettings(host="one", server_id=1)], SnapshotSettings(pace="full"), 100)
    told: list[tuple[str, Any]] = []
    nothing: Any = SimpleNamespace()

    def tell(event: str, **fields: Any) -> None:
        told.append((event, fields.get("code")))

    with Loader(nothing, loads, nothing, plan, nothing, lambda: None, tell):
        assert over.wait(10.0)
    assert starts[0] >= 4
    assert told == [("load_waits", "M106")]


def test_a_load_that_begins_while_it_is_asked_for_begins_once() -> None:
    tables = {"a": wanted_load("a")}
    loads: Any = SimpleNamespace(moment=lambda: MOMENT, wanted=lambda: tables, problems={})
    plan = LoadPlan([SourceSettings(host="one", server_id=1)], SnapshotSettings(pace="full"), 100)
    nothing: Any = SimpleNamespace()
    loader = Loader(nothing, loads, nothing, plan, nothing, lambda: None, lambda *_, **__: None)
    asked: list[str] = []
    server = SimpleNamespace(question=None, ask=lambda _: asked.append("a"))
    loader._servers = cast(
        "Any", SimpleNamespace(ready=lambda *_: [server], take_back=lambda _: None)
    )

    class Open(dict[str, Any]):
        """The other thread is done between two questions."""

        def __contains__(self, topic: object) -> bool:
            found = super().__contains__(topic)
            self["a"] = SimpleNamespace(load=SimpleNamespace(phase="reading"))
            loader._opening.discard("a")
            return found

    loader._opening.add("a")
    loader._open = Open()
    loader._open_wanted()
    assert not asked


def wanted_load(topic: str) -> Any:
    schema = SimpleNamespace(name=topic, database="shop", table=topic)
    return SimpleNamespace(topic=topic, id="1", schema=schema, is_again=False)


def session_at(host: str, executed: Callable[[], str] = lambda: f"{SOURCE}:1-7") -> Any:
    def query(sql: str) -> list[dict[str, str]]:
        if "gtid_executed" in sql:
            return [{"found": executed()}]
        return [] if "STATUS" in sql and "REPLICA" in sql else [{"File": "a.1", "Position": "4"}]

    uuid = {"one": SOURCE, "two": REPLICA}.get(host, OTHER_REPLICA)
    identity = SimpleNamespace(flavour="mysql", server_uuid=uuid, version_number=(8, 4, 0))
    session = SimpleNamespace(name=host, identity=identity, is_closed=False, query=query)
    session.close = lambda: setattr(session, "is_closed", True)
    return session
