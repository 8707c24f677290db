from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

import local_stack
from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.foundation.errors import SourceRefused
from connector.replication import dump_errors, server_errors
from connector.replication.server import replication_status
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import StartPoint
from connector.replication.start_setting import resolve_start
from connector.replication.start_validation import mariadb_point, validate_start
from tests.foundation.errors.texts import text_of
from tests.integration.source_server import Source, source_of
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.server


def resolve(source: Source, start: str) -> StartPoint:
    """Resolve and validate, as a pipeline does."""
    with MysqlServer.connect(source.settings()) as server:
        point = resolve_start(server, start)
        validate_start(server, point)
    return point


def refusal(source: Source, start: str) -> str:
    with pytest.raises(SourceRefused) as caught:
        resolve(source, start)
    return caught.value.text


def refusal_to_resume(source: Source, point: StartPoint) -> str:
    with MysqlServer.connect(source.settings()) as server, pytest.raises(SourceRefused) as caught:
        validate_start(server, point)
    return caught.value.text


def status(source: Source) -> tuple[str, int]:
    ((file, position, *_),) = source.execute("SHOW MASTER STATUS")
    return file, position


def position_of(source: Source, file: str, event_type: str) -> list[int]:
    """Return the positions of the events of a type in a log file."""
    rows = source.execute(f"SHOW BINLOG EVENTS IN '{file}'")
    return [row[1] for row in rows if row[2] == event_type]


def executed(source: Source) -> str:
    variable = "gtid_binlog_pos" if source.is_mariadb else "gtid_executed"
    ((value,),) = source.execute(f"SELECT @@GLOBAL.{variable}")
    return str(value)


def test_earliest_of_a_fresh_server_is_the_empty_set(own_mysql: Source) -> None:
    own_mysql.execute("RESET MASTER")
    assert resolve(own_mysql, "earliest") == StartPoint("mysql", GtidSet(), "binlog.000001", 4)


def test_earliest_holds_everything_that_was_purged(own_mysql: Source) -> None:
    own_mysql.execute("CREATE DATABASE d", "FLUSH LOGS")
    before = executed(own_mysql)
    own_mysql.execute("CREATE TABLE d.t (id INT)", "PURGE BINARY LOGS TO 'binlog.000002'")
    expected = StartPoint("mysql", GtidSet.parse(before), "binlog.000002", 4)
    assert resolve(own_mysql, "earliest") == expected


def test_earliest_of_a_mariadb_holds_everything_that_was_purged(own_mariadb: Source) -> None:
    own_mariadb.execute("CREATE DATABASE d", "FLUSH LOGS")
    before = executed(own_mariadb)
    assert before
    own_mariadb.execute("CREATE TABLE d.t (id INT)")
    own_mariadb.purge_to("binlog.000002")
    point = resolve(own_mariadb, "earliest")
    assert point == StartPoint("mariadb", MariadbGtidSet.parse(before), "binlog.000002", 4)
    with open_stream(own_mariadb.settings(), point, replica_name="p") as stream:
        assert stream.receive(10.0)


def test_earliest_of_a_mariadb_that_is_purging_is_what_it_still_has(
    own_mariadb: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_mariadb.execute("CREATE DATABASE d", "FLUSH LOGS")
    before = executed(own_mariadb)
    own_mariadb.purge_to("binlog.000002")
    now = replication_status.binary_logs
    shown = iter([{"binlog.000001": 4}])
    monkeypatch.setattr(
        replication_status, "binary_logs", lambda server: next(shown, None) or now(server)
    )
    with MysqlServer.connect(own_mariadb.settings()) as server:
        point = resolve_start(server, "earliest")
    assert point == StartPoint("mariadb", MariadbGtidSet.parse(before), "binlog.000002", 4)


def test_a_position_that_mariadb_cannot_compute_is_refused(mariadb: Source) -> None:
    file, _ = status(mariadb)
    with (
        MysqlServer.connect(mariadb.settings()) as server,
        pytest.raises(SourceRefused) as caught,
    ):
        mariadb_point(server, file, 2**32)
    facts = {"server": mariadb.name, "file": file, "position": 2**32}
    assert caught.value.text == text_of(dump_errors.ABOVE_4_GIB, **facts)


def test_earliest_without_gtids_is_the_first_file(without_gtids: Source) -> None:
    assert resolve(without_gtids, "earliest") == StartPoint("mysql", None, "binlog.000001", 4)


def source_seconds(source: Source) -> int:
    ((seconds,),) = source.execute("SELECT UNIX_TIMESTAMP()")
    return int(seconds)


def test_latest_is_everything_so_far(source: Source) -> None:
    before = source_seconds(source)
    point = resolve(source, "latest")
    assert str(point.gtid_set) == executed(source).replace("\n", "")
    assert (point.file, point.position) == status(source)
    # What is committed later has no earlier time.
    assert before * 1_000_000 <= point.time_us <= source_seconds(source) * 1_000_000
    assert resolve(source, "earliest").time_us == 0


def test_latest_without_gtids_is_the_end_of_the_last_file(without_gtids: Source) -> None:
    assert resolve(without_gtids, "latest") == StartPoint("mysql", None, *status(without_gtids))


def test_gtids_are_taken_as_what_was_read(source: Source) -> None:
    gtids = executed(source).replace("\n", "")
    point = resolve(source, f"gtid:{gtids}")
    assert (str(point.gtid_set), point.file, point.position) == (gtids, "", 4)


def test_gtids_on_a_server_without_them_are_refused(without_gtids: Source) -> None:
    assert refusal(without_gtids, "gtid:3e11fa47-71ca-11e1-9e33-c80aa9429562:1") == (
        f"{without_gtids.name}: source.start names GTIDs, but the server has gtid_mode OFF; set "
        "gtid_mode = ON, or start by position"
    )


def test_gtids_of_the_other_product_are_refused(source: Source) -> None:
    said = refusal(source, "gtid:0-1" if source.is_mariadb else "gtid:0-1-5")
    assert said == (
        "source.start: '0-1' is not a MariaDB GTID; it looks like 0-1-5"
        if source.is_mariadb
        else "source.start: cannot read GTID set member '0-1-5': '0-1-5' is not a server UUID; "
        "it looks like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7"
    )


def test_a_position_becomes_the_gtids_before_it(source: Source, schema: str) -> None:
    source.execute("FLUSH LOGS", f"CREATE TABLE {schema}.t (id INT)")
    file, _ = status(source)
    before = executed(source).replace("\n", "")
    source.execute(f"INSERT INTO {schema}.t VALUES (1)")
    start_of_insert = position_of(source, file, "Gtid")[-1]
    point = resolve(source, f"position:{file}:{start_of_insert}")
    assert (str(point.gtid_set), point.file, point.position) == (before, file, start_of_insert)


def test_the_begin_of_a_file_comes_after_the_files_before_it(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT)", "FLUSH LOGS")
    file, _ = status(source)
    before = executed(source).replace("\n", "")
    source.execute(f"INSERT INTO {schema}.t VALUES (1)")
    point = resolve(source, f"position:{file}:4")
    assert (str(point.gtid_set), point.file, point.position) == (before, file, 4)


def test_a_position_after_large_statements_takes_little_memory(
    mysql: Source, database: str
) -> None:
    # Other tests share the present file.
    mysql.execute("FLUSH LOGS", f"CREATE TABLE {database}.t (id INT)")
    mysql.execute(
        "SET SESSION binlog_rows_query_log_events = ON",
        *[f"INSERT INTO {database}.t VALUES ({n}) /* {'x' * 2**20} */" for n in range(20)],
    )
    file, position = status(mysql)
    with MysqlServer.connect(mysql.settings()) as server:
        tracemalloc.start()
        try:
            point = resolve_start(server, f"position:{file}:{position}")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert str(point.gtid_set) == executed(mysql).replace("\n", "")
    assert peak < 10 * 2**20


def test_a_position_at_the_end_of_a_file_ignores_the_next_one(mysql: Source, database: str) -> None:
    mysql.execute("FLUSH LOGS", f"CREATE TABLE {database}.t (id INT)")
    file, position = status(mysql)
    before = executed(mysql).replace("\n", "")
    mysql.execute("FLUSH LOGS", f"INSERT INTO {database}.t VALUES (1)")
    assert str(resolve(mysql, f"position:{file}:{position}").gtid_set) == before
    ((size,),) = [row[1:2] for row in mysql.execute("SHOW BINARY LOGS") if row[0] == file]
    assert str(resolve(mysql, f"position:{file}:{size}").gtid_set) == before


def test_files_that_a_server_only_begins_have_no_transaction(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT)", "FLUSH LOGS")
    file, start = status(source)
    source.execute(f"INSERT INTO {schema}.t VALUES (1)")
    _, end = status(source)
    source.execute("FLUSH LOGS", "FLUSH LOGS")
    with MysqlServer.connect(source.settings()) as server:
        files = replication_status.binary_logs(server)
        assert replication_status.has_transaction(server, files, file, start)
        assert not replication_status.has_transaction(server, files, file, end)
        newest, size = list(files.items())[-1]
        assert not replication_status.has_transaction(server, files, newest, size)
        source.execute(f"INSERT INTO {schema}.t VALUES (2)")
        # What came since does not count.
        assert not replication_status.has_transaction(server, files, file, end)
        files = replication_status.binary_logs(server)
        assert replication_status.has_transaction(server, files, file, end)


def test_statements_in_other_character_sets_are_no_obstacle(source: Source, schema: str) -> None:
    """SHOW BINLOG EVENTS shows the bytes of a statement as its client has sent them."""
    source.execute("FLUSH LOGS")
    file, start = status(source)
    before = resolve(source, f"position:{file}:{start}")
    with local_stack.connect(source.server.endpoint) as connection:
        connection.set_character_set("latin1")
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {schema}.t (id INT) COMMENT '\xe4'")
    with MysqlServer.connect(source.settings()) as server:
        validate_start(server, before)
    assert resolve(source, f"position:{file}:{start}") == before
    file, end = status(source)
    after = resolve(source, f"position:{file}:{end}")
    assert str(after.gtid_set) == executed(source).replace("\n", "")


def test_a_position_where_no_event_starts_is_refused(source: Source) -> None:
    file, _ = status(source)
    said = refusal(source, f"position:{file}:5")
    if source.is_mariadb:
        assert said.startswith(f"{source.name}: error 1220: Error when executing command SHOW ")
        assert said.endswith("; choose a position that SHOW BINLOG EVENTS prints")
    else:
        assert said == (
            f"{source.name}: {file}:5 is not the start of an event; choose a position that SHOW "
            f"BINLOG EVENTS IN '{file}' prints"
        )


def test_words_that_the_configuration_does_not_know_are_refused(mysql: Source) -> None:
    assert refusal(mysql, "yesterday") == (
        "source.start 'yesterday' is not snapshot, earliest, latest, gtid:SET, position:FILE:POS "
        "or timestamp:TIME; write one of these"
    )


def test_a_position_without_gtids_is_kept(without_gtids: Source) -> None:
    without_gtids.execute("CREATE DATABASE IF NOT EXISTS d", "FLUSH LOGS", "DROP DATABASE d")
    file, end = status(without_gtids)
    (start,) = position_of(without_gtids, file, "Anonymous_Gtid")
    for position in (4, start, end):
        point = resolve(without_gtids, f"position:{file}:{position}")
        assert point == StartPoint("mysql", None, file, position)


def test_a_position_inside_a_transaction_is_refused(source: Source, schema: str) -> None:
    source.execute(
        "FLUSH LOGS", f"CREATE TABLE {schema}.t (id INT)", f"INSERT INTO {schema}.t VALUES (1)"
    )
    file, _ = status(source)
    (inside,) = position_of(source, file, "Table_map")
    assert refusal(source, f"position:{file}:{inside}") == (
        f"{source.name}: {file}:{inside} is a Table_map event inside a transaction; start where a "
        "transaction starts, at a Gtid or Anonymous_Gtid event of SHOW BINLOG EVENTS IN "
        f"'{file}'"
    )


def test_a_file_that_the_server_does_not_have_is_refused(source: Source) -> None:
    logs = [row[0] for row in source.execute("SHOW BINARY LOGS")]
    assert refusal(source, "position:binlog.999999:4") == (
        f"{source.name}: the server does not have binlog.999999; its logs go from {logs[0]} to "
        f"{logs[-1]}; if it was purged, changes are lost: give the pipeline a new name and start "
        "over; keep logs longer with binlog_expire_logs_seconds"
    )


def test_a_position_after_the_end_of_its_file_is_refused(without_gtids: Source) -> None:
    file, position = status(without_gtids)
    assert refusal(without_gtids, f"position:{file}:{position + 1}") == (
        f"{without_gtids.name}: {file} ends at {position}, before position {position + 1}: the "
        "logs were reset, or this is another server; give the pipeline a new name and start over"
    )


def test_transactions_purged_before_they_were_read_are_named(own_mysql: Source) -> None:
    own_mysql.execute("RESET MASTER", "CREATE DATABASE d", "CREATE TABLE d.t (id INT)")
    gtids = GtidSet.parse(executed(own_mysql))
    own_mysql.execute("FLUSH LOGS", "PURGE BINARY LOGS TO 'binlog.000002'")
    first, second = gtids
    read = GtidSet()
    read.add(first)
    assert refusal_to_resume(own_mysql, StartPoint("mysql", read, "", 4)) == (
        f"{own_mysql.name}: the server has purged transactions that were not read: {second}; "
        "if the stream goes on without them, changes are lost: give the pipeline a new name "
        "and start over, or "
        "point it at a replica that still has them; keep logs longer with "
        "binlog_expire_logs_seconds"
    )


def test_transactions_purged_from_a_mariadb_before_they_were_read_are_named(
    own_mariadb: Source,
) -> None:
    own_mariadb.execute("RESET MASTER", "CREATE DATABASE d", "CREATE TABLE d.t (id INT)")
    purged = executed(own_mariadb)
    own_mariadb.execute("FLUSH LOGS")
    own_mariadb.purge_to("binlog.000002")
    facts = {"server": own_mariadb.name, "purged": purged}
    nothing = StartPoint("mariadb", MariadbGtidSet(), "", 4)
    assert refusal_to_resume(own_mariadb, nothing) == (
        text_of(server_errors.PURGED_ALL_MARIADB, **facts)
    )
    one = StartPoint("mariadb", MariadbGtidSet.parse("0-1-1"), "", 4)
    assert refusal_to_resume(own_mariadb, one) == (
        text_of(server_errors.PURGED_MARIADB, read="0-1-1", **facts)
    )


def test_a_server_that_lacks_what_was_read_and_is_no_replica_is_refused(source: Source) -> None:
    gtids = executed(source).replace("\n", "")
    foreign = "7-9-1" if source.is_mariadb else "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
    facts = {"server": source.name, "gtids": foreign}
    assert refusal(source, f"gtid:{gtids},{foreign}") == (
        text_of(server_errors.DOMAINS_GONE, start=f"gtid:{gtids}", **facts)
        if source.is_mariadb
        else text_of(server_errors.LACKS, **facts)
    )


def test_a_long_set_is_shown_in_part(mysql: Source) -> None:
    uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    numbers = ":".join(str(number) for number in range(1, 400, 2))
    said = refusal(mysql, f"gtid:{executed(mysql)},{uuid}:{numbers}")
    length = len(f"{uuid}:{numbers}")
    assert f"{f'{uuid}:{numbers}'[:300]}... ({length} characters). It is no replica" in said


def test_a_server_without_a_binary_log_is_refused(tmp_path: Path) -> None:
    settings = {"log_bin": None, "skip_log_bin": "", "gtid_mode": None}
    with local_stack.MysqlServer(tmp_path / "no-log", settings=settings) as server:
        source = source_of(server)
        assert refusal(source, "latest") == (
            f"{source.name}: the binary log is off; start the server with log_bin"
        )
        assert refusal(source, "earliest") == (
            f"{source.name}: error 1381: You are not using binary logging; start the server with "
            "log_bin"
        )
