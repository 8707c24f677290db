"""Each supported server, from its first event to a resumed stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import Channel, channels
from connector.replication.start_setting import resolve_start
from connector.replication.start_validation import validate_start
from connector.stream.source.findings import Severity
from connector.stream.source.preflight import check_source
from local_stack import MysqlServer as LocalMysqlServer
from tests.integration.source_server import Source, source_of
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from connector.replication.dump import ReplicationStream
    from connector.replication.start_point import StartPoint

pytestmark = pytest.mark.server

# CHANGE MASTER, RESET SLAVE and the like.
RENAMED_SINCE = (8, 0, 23)
XID = 16
GTID_TYPES = {33, 42, 162}


@pytest.fixture(params=["mysql_5_7", "mysql_8_0_15", "mysql_9", "mariadb_10_5", "mariadb_10_11"])
def versioned(request: pytest.FixtureRequest) -> Source:
    """Versions beside the two that every other test runs on."""
    return source_of(request.getfixturevalue(request.param))


def start_point(source: Source, start: str) -> StartPoint:
    with MysqlServer.connect(source.settings()) as server:
        point = resolve_start(server, start)
        validate_start(server, point)
    return point


def read_transactions(stream: ReplicationStream, count: int) -> list[int]:
    """Return the types of the events up to the `count`th commit."""
    types = []
    while count:
        event = stream.receive(5.0)
        if event is not None:
            types.append(event[4])
            count -= event[4] == XID
    return types


def test_the_stream_starts_anywhere_and_resumes_by_gtid(versioned: Source) -> None:
    source = versioned
    source.execute(
        "DROP DATABASE IF EXISTS d",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1)",
    )
    middle = start_point(source, "latest")
    assert middle.gtid_set
    source.execute("INSERT INTO d.t VALUES (2)", "INSERT INTO d.t VALUES (3)")
    for start, count in (
        ("earliest", 3),
        (f"gtid:{middle.gtid_set}", 2),
        (f"position:{middle.file}:{middle.position}", 2),
    ):
        point = start_point(source, start)
        with open_stream(source.settings(), point, replica_name="p") as stream:
            types = read_transactions(stream, count)
            while stream.buffered:
                stream.receive(0.0)
        if start != "earliest":
            assert point.gtid_set == middle.gtid_set
            assert sum(event_type in GTID_TYPES for event_type in types) == 2


def test_a_source_that_is_set_up_passes(versioned: Source) -> None:
    with MysqlServer.connect(versioned.settings()) as server:
        findings = check_source(server, versioned.settings())
        version = server.identity.version_number
    assert not [f.name for f in findings if not f.ok and f.severity is Severity.ERROR]
    # Rows of 5.7 have no names.
    has_names = next(f.ok for f in findings if f.name == "binlog_row_metadata")
    assert has_names is (version >= (8, 0))


def test_tagged_gtids_are_resumed_by(tmp_path_factory: pytest.TempPathFactory) -> None:
    with LocalMysqlServer(tmp_path_factory.mktemp("tagged"), version="9") as server:
        source = source_of(server)
        source.execute("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
        source.execute("SET gtid_next = 'AUTOMATIC:nightly'", "INSERT INTO d.t VALUES (1)")
        middle = start_point(source, "latest")
        source.execute("SET gtid_next = 'AUTOMATIC:nightly'", "INSERT INTO d.t VALUES (2)")
        assert str(middle.gtid_set).endswith(":nightly:1")
        file_point = start_point(source, f"position:{middle.file}:{middle.position}")
        assert file_point.gtid_set == middle.gtid_set
        with open_stream(source.settings(), middle, replica_name="p") as stream:
            assert sum(t == 42 for t in read_transactions(stream, 1)) == 1
        ((subset, rest),) = source.execute(
            f"SELECT GTID_SUBSET('{middle.gtid_set}', @@GLOBAL.gtid_executed), "
            f"GTID_SUBTRACT(@@GLOBAL.gtid_executed, '{middle.gtid_set}')"
        )
        assert subset
        assert isinstance(middle.gtid_set, GtidSet)
        executed = GtidSet.parse(source.execute("SELECT @@GLOBAL.gtid_executed")[0][0])
        assert middle.gtid_set <= executed
        assert str(executed - middle.gtid_set) == rest


def test_domains_of_a_mariadb_are_each_resumed(own_mariadb: Source) -> None:
    own_mariadb.execute("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
    own_mariadb.execute("SET gtid_domain_id = 5", "INSERT INTO d.t VALUES (1)")
    middle = start_point(own_mariadb, "latest")
    own_mariadb.execute("INSERT INTO d.t VALUES (2)")
    own_mariadb.execute("SET gtid_domain_id = 5", "INSERT INTO d.t VALUES (3)")
    assert isinstance(middle.gtid_set, MariadbGtidSet)
    assert [gtid.domain_id for gtid in middle.gtid_set] == [0, 5]
    with open_stream(own_mariadb.settings(), middle, replica_name="p") as stream:
        assert sum(t in GTID_TYPES for t in read_transactions(stream, 2)) == 2


def test_a_replica_without_a_connection_yet_has_received_nothing(versioned: Source) -> None:
    if versioned.is_mariadb:
        pytest.skip("it is asked for gtid_slave_pos instead")
    with MysqlServer.connect(versioned.settings()) as server:
        assert channels(server) == []
        modern = server.identity.version_number >= RENAMED_SINCE
    name, option = ("REPLICATION SOURCE", "SOURCE") if modern else ("MASTER", "MASTER")
    versioned.execute(f"CHANGE {name} TO {option}_HOST = '127.0.0.1', {option}_PORT = 1")
    try:
        with MysqlServer.connect(versioned.settings()) as server:
            assert channels(server) == [Channel("", GtidSet(), is_done=False)]
    finally:
        versioned.execute("RESET REPLICA ALL" if modern else "RESET SLAVE ALL")
