"""Which of several servers the next range is read at."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import SourceUnavailable
from connector.foundation.errors.message import Message
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.replication import dump_errors
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors, source_server, source_servers
from stream_jobs.load.server_state import LAG_SECONDS
from stream_jobs.load.source_servers import LoadPlan, SourceServers
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables.load_state import SourceMoment

if TYPE_CHECKING:
    from collections.abc import Sequence

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
MOMENT = DeliveredPosition("mysql", f"{UUID}:1-7", "", PackedSequence(0, 0), server_uuid=UUID)
WATERMARK = SourceMoment(UUID, "mysql", f"{UUID}:1-7", "")


class Server:
    """A server, as its sessions see it."""

    def __init__(self, uuid: str) -> None:
        self.identity: Any = SimpleNamespace(
            flavour="mysql", server_uuid=uuid, version_number=(8, 4, 0)
        )
        self.executed = f"{UUID}:1-7"
        self.is_away = False
        self.filters = ""
        # While it is not set, questions get no answer.
        self.answers = Event()
        self.answers.set()
        self.questions: list[str] = []

    def open(self) -> Any:
        self.answers.wait()
        if self.is_away:
            raise SourceUnavailable(dump_errors.SERVER_CLOSED, server=self.identity.server_uuid)
        session = SimpleNamespace(
            name="source x", identity=self.identity, is_closed=False, query=self.query
        )
        session.close = lambda: setattr(session, "is_closed", True)
        return session

    def query(self, sql: str) -> list[dict[str, str]]:
        self.questions.append(sql)
        self.answers.wait()
        if "REPLICA STATUS" in sql:
            return [{"Replicate_Do_DB": self.filters}]
        if "gtid_executed" in sql:
            return [{"found": self.executed}]
        return [{"File": "log.000001", "Position": "4"}]


class Fleet:
    """Two servers, and what was told of them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.known = [Server(UUID), Server(UUID.replace("3", "4"))]
        self.told: list[tuple[str, str, str | None]] = []
        settings = SnapshotSettings(pace="full", connections=4)
        sources = [SourceSettings(host="db", port=port, server_id=1) for port in (1, 2)]
        patch.setattr(source_server, "open_session", lambda own, _: self.known[own.port - 1].open())
        clock = SimpleNamespace(monotonic=lambda: self.now)
        for module in (source_server, source_servers):
            patch.setattr(module, "CLOCK", clock)
        patch.setattr(source_servers, "_ANSWER_SECONDS", 10.0)
        self.servers = SourceServers(LoadPlan(sources, settings, 100), self.tell)

    def tell(self, event: str, server: str, **fields: Any) -> None:
        self.told.append((event, server, fields.get("code")))

    def ports(self, count: int, watermark: SourceMoment = WATERMARK) -> Sequence[int]:
        """Begin so many ranges, and end them together; return where they were read."""
        closing, found = Event(), []
        with ExitStack() as reads:
            for _ in range(count):
                self.now += 1.0
                server = self.servers.with_room(watermark, lambda: MOMENT, closing)
                assert server is not None
                reads.enter_context(server.pace.read(None, closing))
                found.append(server.source.port)
        return found


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(monkeypatch)


def test_ranges_are_read_where_most_room_is(fleet: Fleet) -> None:
    assert fleet.ports(4) == [1, 2, 1, 2]


def test_a_server_that_is_away_is_left_out_and_tried_again_later(fleet: Fleet) -> None:
    fleet.known[0].is_away = True
    assert fleet.ports(3) == [2, 2, 2]
    code = dump_errors.SERVER_CLOSED.code
    assert fleet.told == [("load_leaves_server", "db:1", code)]
    fleet.known[0].is_away = False
    assert fleet.ports(1) == [2]
    fleet.now += 30.0
    assert fleet.ports(2) == [1, 2]
    assert fleet.told[1:] == [("load_returns_to_server", "db:1", None)]


def test_a_server_that_lags_gets_no_ranges_and_is_left_out_after_a_while(fleet: Fleet) -> None:
    fleet.known[1].executed = f"{UUID}:1-6"
    assert fleet.ports(3) == [1, 1, 1]
    assert not fleet.told
    assert fleet.ports(5)[-1] == 1
    assert fleet.told == [("load_leaves_server", "db:2", load_errors.LAGS.code)]
    fleet.known[1].executed = f"{UUID}:1-8"
    fleet.now += 30.0
    assert fleet.ports(2) == [1, 2]


def test_a_load_begins_at_a_server_that_has_the_newest_moment(fleet: Fleet) -> None:
    fleet.known[0].executed = f"{UUID}:1-6"
    assert [server.source.port for server in fleet.servers.ready(MOMENT, lambda: MOMENT)] == [2]
    assert not fleet.told
    fleet.known[1].executed = f"{UUID}:1-6"
    later = MOMENT._replace(gtid=f"{UUID}:1-8")
    assert not fleet.servers.ready(later, lambda: MOMENT)
    fleet.now += LAG_SECONDS + 1.0
    # Both are left out for a while.
    for _ in range(2):
        with pytest.raises(MirrorError) as caught:
            fleet.servers.ready(later, lambda: MOMENT)
        assert caught.value.code is load_errors.LAGS


def test_a_replica_that_keeps_up_a_second_behind_is_not_left_out(fleet: Fleet) -> None:
    """Though it never has the newest moment, for which it is asked each time."""
    replica = fleet.known[1]
    for number in range(8, 28):
        fleet.known[0].executed = f"{UUID}:1-{number}"
        replica.executed = f"{UUID}:1-{number - 1}"
        fleet.servers.ready(MOMENT._replace(gtid=f"{UUID}:1-{number}"), lambda: MOMENT)
        fleet.now += 1.0
    assert not fleet.told
    # It stops.
    for number in range(28, 48):
        fleet.known[0].executed = f"{UUID}:1-{number}"
        fleet.servers.ready(MOMENT._replace(gtid=f"{UUID}:1-{number}"), lambda: MOMENT)
        fleet.now += 1.0
    assert fleet.told == [("load_leaves_server", "db:2", load_errors.LAGS.code)]


def test_a_server_of_another_kind_or_with_own_transactions_is_left_out(fleet: Fleet) -> None:
    fleet.known[0].identity.flavour = "mariadb"
    fleet.known[1].executed += f",{fleet.known[1].identity.server_uuid}:1"
    with pytest.raises(MirrorError) as caught:
        fleet.ports(1)
    assert caught.value.code is load_errors.OTHER_SERVER
    assert [code for _, _, code in fleet.told] == [
        load_errors.OTHER_SERVER.code,
        load_errors.OWN_TRANSACTIONS.code,
    ]


def test_several_servers_need_gtids_of_mysql(fleet: Fleet) -> None:
    for moment in (MOMENT._replace(gtid=None), MOMENT._replace(flavour="mariadb")):
        with pytest.raises(MirrorError) as caught:
            fleet.servers.ready(moment, lambda: MOMENT)
        assert caught.value.code is load_errors.SEVERAL_SERVERS


def test_a_replica_with_filters_is_left_out_until_it_has_none(fleet: Fleet) -> None:
    fleet.known[1].filters = "shop"
    assert fleet.ports(3) == [1, 1, 1]
    assert fleet.told == [("load_leaves_server", "db:2", load_errors.FILTERS.code)]
    fleet.known[1].filters = ""
    fleet.now += 30.0
    assert fleet.ports(2) == [1, 2]


def test_the_only_server_is_refused_if_it_is_a_replica_with_filters(fleet: Fleet) -> None:
    fleet.known[0].identity.server_uuid = UUID.replace("3", "5")
    fleet.known[0].filters = "shop"
    source = SourceSettings(host="db", port=1, server_id=1)
    servers = SourceServers(LoadPlan([source], SnapshotSettings(pace="full"), 100), fleet.tell)
    for _ in range(2):
        with pytest.raises(MirrorError) as caught:
            servers.ready(MOMENT, lambda: MOMENT)
        assert caught.value.code is load_errors.FILTERS
        with pytest.raises(MirrorError) as caught:
            servers.with_room(WATERMARK, lambda: MOMENT, Event())
        assert caught.value.code is load_errors.FILTERS


def test_a_range_that_fails_ends_the_session(fleet: Fleet) -> None:
    """And the first reason stays until the server is tried again."""
    fleet.ports(2)
    closing = Event()
    server = fleet.servers.with_room(WATERMARK, lambda: MOMENT, closing)
    assert server is fleet.servers.first
    session: Any = server.session
    problem = Message(dump_errors.SERVER_CLOSED, {"server": "x"})
    assert fleet.servers.leave_out(server, problem)
    assert session.is_closed
    assert fleet.servers.leave_out(server, Message(load_errors.LAGS, {"server": "x"}))
    assert server.problem == problem
    assert fleet.told == [("load_leaves_server", "db:1", problem.code.code)]
    assert fleet.ports(1) == [2]
    # It comes back with less, and with transactions of its own.
    fleet.known[0].executed = f"{UUID}:1-6"
    fleet.now += 30.0
    assert fleet.ports(2) == [2, 2]


def test_a_server_is_not_read_unless_the_topics_tell_what_they_have(fleet: Fleet) -> None:
    closing = Event()

    def moment() -> None:
        closing.set()

    assert fleet.servers.with_room(WATERMARK, moment, closing) is None


def test_a_server_that_never_answers_a_login_delays_no_other_one(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_servers, "_ANSWER_SECONDS", 0.01)
    silent = fleet.known[0]
    silent.answers.clear()
    assert fleet.ports(3) == [2, 2, 2]
    silent.answers.set()
    assert fleet.servers.first.question is not None
    fleet.servers.first.question.result(10.0)
    assert fleet.ports(2) == [1, 2]
    assert not fleet.told


def test_a_server_that_answers_no_question_any_more_delays_no_other_one(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = fleet.known[0]
    assert fleet.ports(2) == [1, 2]
    monkeypatch.setattr(source_servers, "_ANSWER_SECONDS", 0.01)
    for server in fleet.known:
        server.executed = f"{UUID}:1-8"
    later = replace(WATERMARK, gtid=f"{UUID}:1-8")
    silent.answers.clear()
    asked = len(silent.questions)
    assert fleet.ports(4, later) == [2, 2, 2, 2]
    assert len(silent.questions) == asked + 1
    silent.answers.set()
    assert fleet.servers.first.question is not None
    fleet.servers.first.question.result(10.0)
    assert fleet.ports(2, later) == [1, 2]
    assert not fleet.told


@pytest.mark.parametrize("first", [1, 2])
def test_two_addresses_of_one_server_have_one_pace(fleet: Fleet, first: int) -> None:
    """The other one is read when the first one is away."""
    other = 3 - first
    for server in fleet.known:
        server.identity.server_uuid = UUID
    fleet.known[other - 1].is_away = True
    assert fleet.ports(1) == [first]
    fleet.told.clear()
    fleet.known[other - 1].is_away = False
    fleet.now += 30.0
    assert fleet.ports(3) == [first] * 3
    assert fleet.told == [("load_leaves_server", f"db:{other}", load_errors.SAME_SERVER.code)]
    fleet.known[first - 1].is_away = True
    (left,) = fleet.servers.ready(MOMENT, lambda: MOMENT)
    assert fleet.servers.leave_out(left, Message(dump_errors.SERVER_CLOSED, {"server": "x"}))
    fleet.now += 30.0
    assert fleet.ports(2) == [other] * 2


def test_what_holds_reading_back_names_the_settings_of_the_load() -> None:
    said: list[str] = []
    settings = SnapshotSettings(pace="full", pause_query="SELECT busy FROM shop.gauge")
    server = source_server.SourceServer(
        SourceSettings(host="db", server_id=1),
        settings,
        lambda _, **fields: said.append(fields["error"]),
    )
    session: Any = SimpleNamespace(query=lambda _: [{"busy": 2}])
    server.pace.look(session)
    assert said == ["first_load.pause_query returns 2"]
