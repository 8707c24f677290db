"""Whether a server has what comes behind a place: each cause of a no, on real servers."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import local_stack
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtidSet
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication import server_errors
from connector.replication.log_search import log_head
from connector.replication.read_pace import PaceState
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import channels
from connector.replication.start_setting import resolve_start
from connector.replication.start_validation import validate_start
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.source_pace import SourcePace, work_of_others
from connector.stream.source import findings, setup_errors
from connector.stream.source.select_session import SelectSession
from local_stack import connect
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.server_state import refuse_late, refuse_own_transactions
from stream_jobs.source.sequence import PackedSequence
from tests.foundation.errors.texts import text_of
from tests.integration.harness import wait_until
from tests.integration.replication_pair import MariadbPair, MysqlPair, mariadb_pair, mysql_pair
from tests.integration.source.conftest import begun_anew
from tests.integration.source_server import Source, source_of
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from connector.foundation.settings.sections import SourceSettings
    from connector.replication.start_point import StartPoint
    from tests.integration.replication_pair import ReplicationPair

pytestmark = pytest.mark.server

START_OVER = "give the pipeline a new name and start over"


@pytest.fixture(scope="module")
def mysql_replication(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlPair]:
    with mysql_pair(tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture(scope="module")
def mariadb_replication(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariadbPair]:
    with mariadb_pair(tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture(params=["mysql_replication", "mariadb_replication"], ids=["mysql", "mariadb"])
def replication(request: pytest.FixtureRequest) -> Iterator[ReplicationPair]:
    """Each product in turn; the replica has caught up, before and behind the test."""
    pair: ReplicationPair = request.getfixturevalue(request.param)
    pair.wait_for_replica()
    yield pair
    pair.wait_for_replica()


@pytest.fixture(params=["own_mysql", "own_mariadb", "own_mysql_without_gtids"])
def resettable(request: pytest.FixtureRequest) -> Source:
    """A server whose logs may be reset, with and without GTIDs."""
    source: Source = request.getfixturevalue(request.param)
    return source


def latest(source: Source) -> StartPoint:
    """Return the end of the log, as a stream keeps it that has read up to there."""
    with MysqlServer.connect(source.settings()) as server:
        point = resolve_start(server, "latest")
        return replace(point, file_created=log_head(server, point.file).created)


def validated(source: Source, point: StartPoint) -> StartPoint:
    with MysqlServer.connect(source.settings()) as server:
        return validate_start(server, point)


def refusal(source: Source, point: StartPoint) -> str:
    with pytest.raises(SourceRefused) as caught:
        validated(source, point)
    return caught.value.text


def hesitation(source: Source, point: StartPoint) -> str:
    with pytest.raises(SourceUnavailable) as caught:
        validated(source, point)
    return caught.value.text


def reset(source: Source) -> None:
    """Let the history begin anew, in another second than before."""
    time.sleep(1.1)
    source.execute("RESET MASTER")


def iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_replica_that_lags_is_waited_for(replication: ReplicationPair) -> None:
    source, replica = source_of(replication.source), Source(replication.replica, "")
    replication.wait_for_replica()
    replica.user = source.user
    before = replication.gtids(replication.source)
    replication.stop_replication()
    source.execute("CREATE DATABASE missing", "DROP DATABASE missing")
    point = replace(latest(source), file="")
    after = replication.gtids(replication.source)
    missing = after - before  # type: ignore[operator]  # of one product
    assert hesitation(replica, point) == (
        f"{replica.name}: the server does not have transactions that were already read: {missing}."
        " It is a replica that lags; the connector waits for it; look at SHOW REPLICA STATUS, "
        "or name a "
        "server that has them in source.failover_hosts"
    )
    replication.start_replication()
    replication.wait_for_replica()
    assert validated(replica, point) == point


def test_a_server_that_took_over_without_what_was_read_is_refused(
    mysql_replication: MysqlPair,
) -> None:
    pair = mysql_replication
    source, replica = source_of(pair.source), Source(pair.replica, "")
    pair.wait_for_replica()
    replica.user = source.user
    before = pair.gtids(pair.source)
    pair.promote()
    source.execute("CREATE DATABASE lost", "DROP DATABASE lost")
    point = replace(latest(source), file="")
    missing = pair.gtids(pair.source) - before
    assert refusal(replica, point) == (
        f"{replica.name}: the server does not have transactions that were already read: {missing}."
        " It is no replica, so it will not receive them: it belongs to another topology, its logs "
        "were reset, or they were lost when it took over; point the pipeline at a server that has "
        f"them, or {START_OVER}"
    )
    pair.follow()
    pair.wait_for_replica()


def test_transactions_that_only_the_new_server_has_are_streamed(
    mysql_replication: MysqlPair,
) -> None:
    pair = mysql_replication
    source, replica = source_of(pair.source), Source(pair.replica, "")
    pair.wait_for_replica()
    replica.user = source.user
    # Other tests may have written there, too.
    known = pair.gtids(pair.replica) - pair.gtids(pair.source)
    replica.execute("CREATE DATABASE errant", "DROP DATABASE errant")
    source.execute("CREATE DATABASE later", "DROP DATABASE later")
    pair.wait_for_replica()
    point = replace(latest(source), file="")
    assert validated(replica, point) == point
    errant = pair.gtids(pair.replica) - pair.gtids(pair.source) - known
    assert len(list(errant)) == 2


def test_a_first_load_refuses_a_replica_that_has_transactions_of_its_own(
    mysql_replication: MysqlPair,
) -> None:
    pair = mysql_replication
    source, replica = source_of(pair.source), Source(pair.replica, "")
    pair.wait_for_replica()
    replica.user = source.user
    bound = PackedSequence(0, 0)
    with SelectSession(source.settings()) as session:
        uuid = session.identity.server_uuid
        delivered = DeliveredPosition(
            "mysql", str(pair.gtids(pair.source)), "", bound, server_uuid=uuid
        )
        refuse_own_transactions(session, delivered)
    source.execute("CREATE DATABASE later_still", "DROP DATABASE later_still")
    replica.execute("CREATE DATABASE errant", "DROP DATABASE errant")
    pair.wait_for_replica()
    errant = pair.gtids(pair.replica) - pair.gtids(pair.source)
    assert len(list(errant)) >= 2
    with (
        SelectSession(replica.settings()) as session,
        pytest.raises(MirrorError) as caught,
    ):
        refuse_own_transactions(session, delivered)
    assert caught.value.code is load_errors.OWN_TRANSACTIONS
    assert caught.value.message.facts["gtids"] == str(errant)
    pair.stop_replication()
    source.execute("CREATE DATABASE unseen", "DROP DATABASE unseen")
    gtids = str(pair.gtids(pair.source))
    with (
        SelectSession(replica.settings()) as session,
        pytest.raises(MirrorError) as caught,
    ):
        refuse_late(session, gtids, seconds=1)
    assert caught.value.code is load_errors.LAGS
    pair.start_replication()
    with SelectSession(replica.settings()) as session:
        refuse_late(session, gtids)


def test_a_mariadb_that_has_diverged_is_refused(tmp_path: Path) -> None:
    # Of its own: nothing is replicated behind that.
    with mariadb_pair(tmp_path) as pair:
        source, replica = source_of(pair.source), Source(pair.replica, "")
        pair.wait_for_replica()
        replica.user = source.user
        pair.stop_replication()
        # In a domain that nothing else writes to.
        domain = "SET SESSION gtid_domain_id = 77"
        replica.execute("SET SESSION server_id = 2", domain, *["FLUSH TABLES"] * 3)
        source.execute(domain, *["FLUSH TABLES"] * 2)
        point = replace(latest(source), file="")
        assert refusal(replica, point) == (
            f"{replica.name}: the server has another transaction instead of 77-1-2, which "
            "was already read; domain 77 goes up to 77-2-3 there. It has diverged from the server "
            "that was read; point the pipeline at a server that has it, or "
            f"{START_OVER}"
        )


def first_look(settings: SourceSettings) -> PaceState:
    """Return the pace of reading after a server was asked once."""
    closing = threading.Event()
    closing.set()
    pace = SourcePace(SnapshotSettings())
    with SelectSession(settings) as session:
        pace.wait(session, closing)
    return pace.state


def check_of_the_right_to_see_the_lag(replica: Source, blind: str) -> None:
    found = {}
    for user in (replica.user, blind):
        settings = replica.settings(user=user)
        with MysqlServer.connect(settings) as server:
            (found[user],) = findings.check_lag(server, settings)
    assert {user: each.ok for user, each in found.items()} == {replica.user: True, blind: False}
    assert found[blind].severity is findings.Severity.WARNING
    assert found[blind].problem.code is setup_errors.GRANT_LAG
    assert found[blind].problem.text == (
        "grant SLAVE MONITOR is missing, wanted granted; "
        f"GRANT SLAVE MONITOR ON *.* TO '{blind}'@'%'"
    )


def test_a_replica_that_lags_is_read_at_half_the_pace(replication: ReplicationPair) -> None:
    replication.on_source(
        "CREATE DATABASE paced",
        "CREATE TABLE paced.t (id INT PRIMARY KEY)",
        "INSERT INTO paced.t VALUES (1)",
    )
    replica = Source(replication.replica, "")
    # Accounts replicate, too.
    source = Source(replication.source, "")
    right = ", SLAVE MONITOR" if replica.is_mariadb else ""
    replica.user = source.create_account(f"REPLICATION CLIENT{right}")
    blind = source.create_account("SELECT")
    replication.wait_for_replica()
    assert first_look(replica.settings()).why is None
    with connect(replica.server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT id FROM paced.t FOR UPDATE")
        replication.on_source(
            "SET TIMESTAMP = UNIX_TIMESTAMP() - 3600", "DELETE FROM paced.t WHERE id = 1"
        )
        wait_until(
            lambda: first_look(replica.settings()).why is not None,
            lambda: str(replication.replication_status()),
        )
        state = first_look(replica.settings())
        assert state.why is not None
        assert state.why.code is copy_errors.REPLICA_LAGS
        facts = state.why.facts
        assert 3600 <= float(str(facts["found"])) < 3700
        assert state.why.text == text_of(copy_errors.REPLICA_LAGS, **facts)
        assert state.reads == 0.5
        assert first_look(replica.settings(user=blind)).why is None
        if replica.is_mariadb:
            check_of_the_right_to_see_the_lag(replica, blind)
        connection.rollback()
    wait_until(
        lambda: first_look(replica.settings()).why is None,
        lambda: str(replication.replication_status()),
    )
    replication.on_source("DROP DATABASE paced")


def test_how_long_statements_of_others_take_is_known_with_a_right_to_it(own_mysql: Source) -> None:
    source = own_mysql
    users = [source.create_account("REPLICATION CLIENT") for _ in range(3)]
    user, blind, writer = users
    table = "performance_schema.events_statements_summary_by_account_by_event_name"
    source.execute(f"GRANT SELECT ON {table} TO {user}")
    with (
        SelectSession(source.settings(user=user)) as session,
        SelectSession(source.settings(user=writer)) as other,
    ):
        other.query("SELECT 1")
        before = work_of_others(session)
        # A statement is counted after its answer, and before the next one of its session.
        for statement in ("SELECT SLEEP(0.2)", "SELECT 1"):
            other.query(statement)
        for _ in range(20):
            session.query("SELECT 1")
        after = work_of_others(session)
    assert before is not None
    assert after is not None
    assert 0 < after.statements - before.statements < 20
    assert after.seconds - before.seconds >= 0.2
    with (
        SelectSession(source.settings(user=blind)) as session,
        pytest.raises(SourceRefused, match="command denied"),
    ):
        work_of_others(session)
    assert first_look(source.settings(user=blind)).why is None


def test_a_server_that_lacks_transactions_of_its_own_was_reset(own_mysql: Source) -> None:
    own_mysql.execute("CREATE DATABASE d")
    point = replace(latest(own_mysql), file_created=0)
    own_mysql.execute("RESET MASTER")
    assert refusal(own_mysql, point) == (
        f"{own_mysql.name}: the server's logs were reset, or a backup was restored: it lacks "
        f"transactions of its own that were already read: {point.gtid_set}; new transactions "
        f"cannot be distinguished from those that were read: {START_OVER}, or point it at a "
        "server that has them"
    )


def test_a_mariadb_that_lacks_transactions_of_its_own_was_reset(own_mariadb: Source) -> None:
    own_mariadb.execute("CREATE DATABASE d")
    point = replace(latest(own_mariadb), file_created=0)
    own_mariadb.execute("RESET MASTER")
    assert refusal(own_mariadb, point) == (
        f"{own_mariadb.name}: the server's logs were reset, or a backup was restored: it lacks "
        f"transactions of its own that were already read: {point.gtid_set}; new transactions "
        f"cannot be distinguished from those that were read: {START_OVER}, or point it at a "
        "server that has them"
    )


@pytest.mark.parametrize("pair_of", [mysql_pair, mariadb_pair], ids=["mysql", "mariadb"])
def test_a_replica_that_lacks_what_it_has_received_was_reset(
    pair_of: Callable[[Path], AbstractContextManager[ReplicationPair]], tmp_path: Path
) -> None:
    with pair_of(tmp_path) as pair:
        source, replica = source_of(pair.source), Source(pair.replica, "")
        replica.user = source.user
        point = replace(latest(source), file="", file_created=0)
        source.execute("CREATE DATABASE d")
        pair.wait_for_replica()
        wait_until(lambda: has_committed(replica), lambda: str(pair.replication_status()))
        replica.execute(pair.reset)
        assert refusal(replica, point) == text_of(
            server_errors.LOST, server=replica.name, gtids=point.gtid_set
        )


def has_committed(replica: Source) -> bool:
    """Return whether a replica says that it has committed what it has received."""
    if replica.is_mariadb:
        return True
    with MysqlServer.connect(replica.settings()) as server:
        return all(channel.is_done for channel in channels(server))


def test_a_reset_shows_though_no_transaction_is_missing(resettable: Source) -> None:
    resettable.execute("CREATE DATABASE d", "DROP DATABASE d")
    point = latest(resettable)
    reset(resettable)
    # As many as before, and as many bytes: the same GTIDs at the same places.
    resettable.execute(*["CREATE DATABASE d", "DROP DATABASE d"] * 20)
    begun = latest(resettable).file_created
    assert refusal(resettable, point) == (
        f"{resettable.name}: the logs were reset since {point.file}:{point.position} was read: "
        f"the file was begun at {iso(begun)}, not at {iso(point.file_created)}; new "
        f"transactions cannot be distinguished from those that were read: {START_OVER}"
    )


def test_a_reset_shows_in_files_that_were_not_begun_again(resettable: Source) -> None:
    resettable.execute("FLUSH LOGS", "CREATE DATABASE d", "DROP DATABASE d")
    point = latest(resettable)
    reset(resettable)
    assert refusal(resettable, point) == (
        f"{resettable.name}: the logs were reset since {point.file}:{point.position} was read: "
        "its newest file is binlog.000001; new transactions cannot be distinguished from "
        f"those that were read: {START_OVER}"
    )


def test_a_reset_shows_in_a_file_that_ends_before_the_position(resettable: Source) -> None:
    resettable.execute(*["CREATE DATABASE d", "DROP DATABASE d"] * 3)
    point = latest(resettable)
    reset(resettable)
    _, end = resettable.execute("SHOW MASTER STATUS")[0][:2]
    assert refusal(resettable, point) == (
        f"{resettable.name}: the logs were reset since {point.file}:{point.position} was read: "
        f"the file ends at {end}; new transactions cannot be distinguished from those that "
        f"were read: {START_OVER}"
    )


def test_a_file_that_was_read_to_its_end_may_be_purged(own_mysql: Source) -> None:
    own_mysql.execute("CREATE DATABASE d")
    point = latest(own_mysql)
    own_mysql.execute("FLUSH LOGS", "PURGE BINARY LOGS TO 'binlog.000002'")
    assert validated(own_mysql, point) == point


def test_commits_that_the_server_has_not_finished_are_waited_for(tmp_path: Path) -> None:
    # The plugin comes with this version alone.
    with local_stack.MysqlServer(tmp_path / "semi-sync", version="9") as server:
        wait_for_an_unfinished_commit(source_of(server))


def wait_for_an_unfinished_commit(own_mysql: Source) -> None:
    own_mysql.execute(
        "CREATE DATABASE d",
        "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
        "SET GLOBAL rpl_semi_sync_source_timeout = 600000",
        "SET GLOBAL rpl_semi_sync_source_enabled = ON",
    )
    before = latest(own_mysql)
    # It is in the log and sent; that it is committed, some replica has to acknowledge first.
    waiting = threading.Thread(target=own_mysql.execute, args=("CREATE DATABASE e",))
    waiting.start()
    try:
        sizes = "SHOW BINARY LOGS"
        wait_until(
            lambda: own_mysql.execute(sizes)[-1][1] > before.position, lambda: "nothing is logged"
        )
        position = own_mysql.execute(sizes)[-1][1]
        assert isinstance(before.gtid_set, GtidSet)
        last = list(before.gtid_set)[-1]
        sent = Gtid(last.uuid, last.gno + 1)
        gtids = before.gtid_set.copy()
        gtids.add(sent)
        point = replace(before, gtid_set=gtids, position=position)
        assert hesitation(own_mysql, point) == (
            f"{own_mysql.name}: the server is still committing transactions that it has sent: "
            f"{sent}. The connector waits for them; if that lasts, look for sessions that "
            "wait for the "
            "acknowledgement of a semi-synchronous replica"
        )
    finally:
        own_mysql.execute("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
        waiting.join()
    assert validated(own_mysql, point) == point


def test_a_domain_that_was_deleted_is_left_out_where_its_end_was_read(
    own_mariadb: Source,
) -> None:
    own_mariadb.execute("SET SESSION gtid_domain_id = 7", "CREATE DATABASE d")
    own_mariadb.execute("CREATE DATABASE e", "FLUSH LOGS")
    own_mariadb.purge_to("binlog.000002")
    point = latest(own_mariadb)
    assert str(point.gtid_set).endswith(",7-1-1")
    kept = str(point.gtid_set).removesuffix(",7-1-1")
    own_mariadb.execute("FLUSH BINARY LOGS DELETE_DOMAIN_ID = (7)")
    assert validated(own_mariadb, point).gtid_set == MariadbGtidSet.parse(kept)
    # Without the file that was read last, nobody knows where the domain ended.
    assert refusal(
        own_mariadb, replace(point, file="", gtid_set=MariadbGtidSet.parse(f"{kept},7-9-1"))
    ) == text_of(
        server_errors.DOMAINS_GONE, server=own_mariadb.name, gtids="7-9-1", start=f"gtid:{kept}"
    )


def test_a_mariadb_is_asked_for_each_domain(own_mariadb: Source) -> None:
    own_mariadb.execute("SET SESSION gtid_domain_id = 7", "CREATE DATABASE d")
    own_mariadb.execute("CREATE DATABASE e")
    point = latest(own_mariadb)
    assert validated(own_mariadb, point) == point
    some = str(point.gtid_set).removesuffix(",7-1-1")
    # One that is new to us is read from its start.
    assert validated(
        own_mariadb, replace(point, gtid_set=MariadbGtidSet.parse(some))
    ).gtid_set == MariadbGtidSet.parse(some)


def test_a_mariadb_made_from_a_backup_is_read_from_the_position_of_the_backup(
    own_mariadb: Source,
) -> None:
    point = latest(own_mariadb)
    own_mariadb.execute(f"SET GLOBAL gtid_slave_pos = '{point.gtid_set},7-9-5'")
    own_mariadb.execute("SET SESSION gtid_domain_id = 7", "CREATE DATABASE d")
    read = replace(point, file="", gtid_set=MariadbGtidSet.parse(f"{point.gtid_set},7-9-5"))
    assert validated(own_mariadb, read) == read
    decoder = EventDecoder(mariadb=True)
    with open_stream(own_mariadb.settings(), read, replica_name="p", stop_at_end=True) as stream:
        events = [decoder.decode(data) for data in iter(lambda: stream.receive(10.0), None)]
    gtids = [event.body.gtid for event in events if isinstance(event.body, MariadbGtidEvent)]
    assert list(map(str, gtids)) == ["7-1-6"]


@pytest.fixture(scope="module")
def resettable_without_gtids(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[local_stack.MysqlServer]:
    """A MySQL of one test after the other, without GTIDs."""
    settings = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
    directory = tmp_path_factory.mktemp("own-without-gtids")
    with local_stack.MysqlServer(directory, settings=settings) as server:
        yield server


@pytest.fixture
def own_mysql_without_gtids(resettable_without_gtids: local_stack.MysqlServer) -> Source:
    """A MySQL of this test alone, without GTIDs."""
    return begun_anew(resettable_without_gtids)
