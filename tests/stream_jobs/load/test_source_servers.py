"""Which of several servers the next range is read at."""

from __future__ import annotations

from contextlib import ExitStack
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
from stream_jobs.load import load_errors, source_servers
from stream_jobs.load.source_servers import SourceServers
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

    def open(self) -> Any:
        if self.is_away:
            raise SourceUnavailable(dump_errors.SERVER_CLOSED, server=self.identity.server_uuid)
        session = SimpleNamespace(
            name="source x", identity=self.identity, is_closed=False, query=self.query
        )
        session.close = lambda: setattr(session, "is_closed", True)
        return session

    def query(self, sql: str) -> list[dict[str, str]]:
        if "WAIT_FOR_EXECUTED" in sql:
            return [{"timed_out": "1" if self.executed.endswith("-6") else "0"}]
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
        patch.setattr(
            source_servers, "open_session", lambda own, _: self.known[own.port - 1].open()
        )
        clock = SimpleNamespace(monotonic=lambda: self.now)
        patch.setattr(source_servers, "CLOCK", clock)
        self.servers = SourceServers(sources, settings, self.tell)

    def tell(self, event: str, server: str, **fields: Any) -> None:
        self.told.append((event, server, fields.get("code")))

    def ports(self, count: int) -> Sequence[int]:
        """Begin so many ranges, and end them together; return where they were read."""
        closing, found = Event(), []
        with ExitStack() as reads:
            for _ in range(count):
                self.now += 1.0
                server = self.servers.with_room(WATERMARK, lambda: MOMENT, closing)
                assert server is not None
                reads.enter_context(server.pace.read(server.session(), closing))
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
    session = fleet.servers.session_at(MOMENT)
    assert session.identity is fleet.known[1].identity
    assert not fleet.told
    fleet.known[1].executed = f"{UUID}:1-6"
    later = MOMENT._replace(gtid=f"{UUID}:1-8")
    with pytest.raises(MirrorError) as caught:
        fleet.servers.session_at(later)
    assert caught.value.code is load_errors.LAGS
    # Both are left out for a while.
    with pytest.raises(MirrorError) as caught:
        fleet.ports(1)
    assert caught.value.code is load_errors.LAGS


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
            fleet.servers.session_at(moment)
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
    servers = SourceServers([source], SnapshotSettings(pace="full"), fleet.tell)
    for _ in range(2):
        with pytest.raises(MirrorError) as caught:
            servers.session_at(MOMENT)
        assert caught.value.code is load_errors.FILTERS
        with pytest.raises(MirrorError) as caught:
            servers.with_room(WATERMARK, lambda: MOMENT, Event())
        assert caught.value.code is load_errors.FILTERS


def test_a_range_that_fails_leaves_the_session_to_its_thread(fleet: Fleet) -> None:
    """And the first reason stays until the server is tried again."""
    fleet.ports(2)
    closing = Event()
    server = fleet.servers.with_room(WATERMARK, lambda: MOMENT, closing)
    assert server is fleet.servers.first
    session: Any = server.session()
    problem = Message(dump_errors.SERVER_CLOSED, {"server": "x"})
    assert fleet.servers.leave_out(server, problem)
    assert not session.is_closed
    assert fleet.servers.leave_out(server, Message(load_errors.LAGS, {"server": "x"}))
    assert server.problem == problem
    assert fleet.told == [("load_leaves_server", "db:1", problem.code.code)]
    assert fleet.ports(1) == [2]
    assert session.is_closed
    # It comes back with less, and with transactions of its own.
    fleet.known[0].executed = f"{UUID}:1-6"
    fleet.now += 30.0
    assert fleet.ports(2) == [2, 2]


def test_a_server_is_not_read_unless_the_topics_tell_what_they_have(fleet: Fleet) -> None:
    closing = Event()

    def moment() -> None:
        closing.set()

    assert fleet.servers.with_room(WATERMARK, moment, closing) is None
