"""Which of several servers is read, and what is said where none will do."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from connector.binlog.gtid import GtidSet
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.errors.message import Message
from connector.replication import server_errors
from connector.replication.log_search import log_head
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import binary_logs
from connector.replication.server_log import open_server
from connector.replication.start_setting import resolve_start
from connector.stream.progress.progress_record import Progress
from connector.stream.source import setup_errors
from connector.stream.source.server_selection import choose_source
from connector.stream.source.table_definitions import ServerTableDefinitions
from local_stack.server import free_port
from tests.foundation.errors.texts import text_of
from tests.integration.harness import wait_until
from tests.integration.packet_proxy import PacketProxy
from tests.integration.replication_pair import mariadb_pair, mysql_pair
from tests.integration.source_server import ACCOUNT_PASSWORD, LEAST_GRANTS, Source, source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    import local_stack
    from connector.foundation.settings.sections import SourceSettings
    from tests.integration.replication_pair import ReplicationPair

pytestmark = pytest.mark.server

FOREIGN = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"


@pytest.fixture(scope="module")
def first(mysql_server: local_stack.MysqlServer) -> Source:
    return source_of(mysql_server)


@pytest.fixture(scope="module")
def second(mariadb_server: local_stack.MariadbServer) -> Source:
    """A server that is no replica of the first: of another product."""
    return source_of(mariadb_server)


def settings(first: Source, *others: str, **changes: Any) -> SourceSettings:
    return first.settings(failover_hosts=list(others), start="latest", **changes)


def address(source: Source) -> str:
    return source.name.removeprefix("source ")


def progress(of: Source, **facts: Any) -> Progress:
    """Return that of a stream that has read everything of a server."""
    with MysqlServer.connect(of.settings()) as server:
        point = resolve_start(server, "latest")
        identity = server.identity
    values: dict[str, Any] = {
        "flavour": identity.flavour,
        "gtid_set": str(point.gtid_set),
        "file": point.file,
        "position": point.position,
        "epoch": 3,
        "seq": "",
        "server_uuid": identity.server_uuid,
        "instance": "a",
        "host": "there",
        "pid": 7,
        "committed_at_ms": 1,
        "source": address(of),
    }
    return Progress(**(values | facts))


def unreachable(port: int) -> str:
    return (
        f"source 127.0.0.1:{port}: cannot connect: Connection refused; check that the server runs, "
        "source.host, source.port and firewalls"
    )


def without_codes(text: str) -> str:
    return re.sub(r"\[\w*\] ", "", text)


def test_a_server_that_cannot_be_reached_is_passed_over(first: Source) -> None:
    chosen = choose_source(settings(first, address(first), port=free_port()), None)
    assert (chosen.address, chosen.name) == (address(first), first.name)


def test_the_server_that_was_read_last_is_chosen_before_the_first(first: Source) -> None:
    other = f"localhost:{first.server.endpoint.port}"
    both = settings(first, other)
    assert choose_source(both, progress(first)).settings.host == "127.0.0.1"
    last = progress(first, source=other)
    assert choose_source(both, last).settings.host == "localhost"


def test_one_server_alone_says_why_without_more_words(first: Source) -> None:
    port = free_port()
    with pytest.raises(SourceUnavailable) as caught:
        choose_source(settings(first, port=port), None)
    assert caught.value.text == unreachable(port)


def test_while_one_server_may_do_later_the_attempt_is_repeated(first: Source) -> None:
    port = free_port()
    last = progress(first, flavour="mariadb", gtid_set="0-1-5")
    with pytest.raises(SourceUnavailable) as caught:
        choose_source(settings(first, f"127.0.0.1:{port}"), last)
    assert without_codes(caught.value.text) == (
        "source: no server of source.host and source.failover_hosts can go on with the stream "
        "now:\n"
        f"  {first.name}: the stream was read from mariadb, this is mysql; give the pipeline a "
        'new name and set source.start = "snapshot"\n'
        f"  {unreachable(port)}"
    )


def test_where_no_server_will_ever_do_that_is_the_end(first: Source, second: Source) -> None:
    second.execute(
        f"CREATE USER IF NOT EXISTS {first.user} IDENTIFIED BY '{ACCOUNT_PASSWORD}'",
        f"GRANT {LEAST_GRANTS} ON *.* TO {first.user}",
    )
    last = progress(first)
    last.gtid_set = f"{last.gtid_set},{FOREIGN}"
    with pytest.raises(SourceRefused) as caught:
        choose_source(settings(first, address(second)), last)
    assert without_codes(caught.value.text) == (
        "source: no server of source.host and source.failover_hosts can go on with the stream:\n"
        f"  {first.name}: the server does not have transactions that were already read: "
        f"{FOREIGN}. It is no replica, so it will not receive them: it belongs to another "
        "topology, its logs were reset, or they were lost when it took over; point the pipeline at "
        "a server that has them, or give the pipeline a new name and start over\n"
        f"  {second.name}: the stream was read from mysql, this is mariadb; give the pipeline a "
        'new name and set source.start = "snapshot"'
    )


@pytest.mark.parametrize("pair_of", [mysql_pair, mariadb_pair], ids=["mysql", "mariadb"])
def test_a_reset_of_all_is_the_end_where_it_can_be_proven(
    pair_of: Callable[[Path], AbstractContextManager[ReplicationPair]], tmp_path: Path
) -> None:
    with pair_of(tmp_path) as pair:
        source, replica = source_of(pair.source), Source(pair.replica, "")
        last = progress(source)
        pair.wait_for_replica()
        pair.begin_anew()
        source.execute("CREATE DATABASE d")
        pair.wait_for_replica()
        both = settings(source, address(replica))
        there = pair.gtids(pair.replica)
        lacking = last.gtid_set
        if isinstance(there, GtidSet):
            lacking = str(GtidSet.parse(str(last.gtid_set)) - there)
        first = Message(server_errors.RESET, {"server": source.name, "gtids": lacking})
        said = {"server": replica.name, "gtids": lacking}
        if source.is_mariadb:
            # It tells nobody without one more grant from whom it receives.
            with pytest.raises(SourceUnavailable) as hoped:
                choose_source(both, last)
            problems = [first, Message(server_errors.LAGS, said)]
            none_now = text_of(setup_errors.NONE_NOW_AND_RESET, problems=problems)
            assert hoped.value.text == none_now
        else:
            wait_until(lambda: is_refused(both, last), lambda: str(pair.replication_status()))
            with pytest.raises(SourceRefused) as refused:
                choose_source(both, last)
            problems = [first, Message(server_errors.SOURCES_RESET, said)]
            assert refused.value.text == text_of(setup_errors.NONE, problems=problems)


def is_refused(several: SourceSettings, last: Progress) -> bool:
    """Return whether the replica says by now that it has committed what it has received."""
    try:
        choose_source(several, last)
    except SourceRefused:
        return True
    except SourceUnavailable:
        return False
    raise AssertionError


def test_another_server_than_the_one_that_was_checked_is_told(first: Source) -> None:
    chosen = choose_source(settings(first), None)
    checked = replace(chosen, identity=replace(chosen.identity, server_uuid="of another"))
    with pytest.raises(SourceUnavailable) as caught:
        checked.open_stream("p")
    assert caught.value.text == text_of(server_errors.ANOTHER_ANSWERED, server=first.name)


def head_of_a_file(server: MysqlServer) -> None:
    log_head(server, next(iter(binary_logs(server))))


def search_of_a_time(server: MysqlServer) -> None:
    resolve_start(server, "timestamp:2026-01-01T00:00:00Z")


def statements_of_the_log(server: MysqlServer) -> None:
    definitions = ServerTableDefinitions(server.settings, server.identity, lower_case_names=False)
    definitions._read_log(next(iter(binary_logs(server))), 4)


@pytest.fixture
def by_turns(first: Source, second: Source) -> Iterator[SourceSettings]:
    """One address that leads each second login to the other server."""
    tls = {"mode": "disabled", "get_server_public_key": True}
    second.execute(
        f"CREATE USER IF NOT EXISTS {first.user} IDENTIFIED BY '{ACCOUNT_PASSWORD}'",
        f"GRANT {LEAST_GRANTS} ON *.* TO {first.user}",
    )
    with PacketProxy(first.server.endpoint, others=[second.server.endpoint]) as proxy:
        yield first.settings(port=proxy.port, tls=tls)


@pytest.mark.parametrize(
    "dump",
    [head_of_a_file, search_of_a_time, statements_of_the_log],
    ids=lambda dump: dump.__name__,
)
def test_no_search_goes_on_in_the_log_of_another_server(
    by_turns: SourceSettings, dump: Callable[[MysqlServer], None]
) -> None:
    with MysqlServer.connect(by_turns) as server, pytest.raises(SourceUnavailable) as caught:
        dump(server)
    assert caught.value.text == text_of(server_errors.ANOTHER_ANSWERED, server=server.name)


def test_the_library_reads_no_log_of_another_server_than_the_one_that_it_asked(
    by_turns: SourceSettings,
) -> None:
    with pytest.raises(SourceUnavailable) as caught:
        open_server(by_turns, start="latest")
    assert caught.value.text == text_of(
        server_errors.ANOTHER_ANSWERED, server=f"source 127.0.0.1:{by_turns.port}"
    )


def test_what_was_prepared_before_the_stream_begins_is_told(second: Source) -> None:
    second.execute("CREATE DATABASE IF NOT EXISTS d", "CREATE OR REPLACE TABLE d.x (id INT)")
    second.execute("XA START 'x'", "INSERT INTO d.x VALUES (1)", "XA END 'x'", "XA PREPARE 'x'")
    try:
        with capture_logs() as logs:
            choose_source(settings(second), None)
    finally:
        second.execute("XA ROLLBACK 'x'", "DROP DATABASE d")
    (told,) = [log for log in logs if log["event"] == "XA transactions wait"]
    said = text_of(setup_errors.PREPARED_BEFORE, server=second.name, xids="'x'")
    assert (told["error"], told["code"]) == (said, "S452")


def test_another_server_is_read_from_where_the_gtids_say(first: Source) -> None:
    # As behind a blue/green switch: the same address, another server with the same history.
    last = progress(first, server_uuid="4350f323-7565-4e59-8763-4b1b83a0ce0e")
    chosen = choose_source(settings(first), last)
    assert (chosen.point.file, chosen.point.position) == ("", 4)
    assert str(chosen.point.gtid_set) == last.gtid_set
