"""What stops a replica is named, with what to do, and without values of rows."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import ConfigError, ConnectorError, SourceUnavailable
from local_stack import MariadbServer, connect
from stream_jobs.errors import MirrorError
from stream_jobs.replica import replica_errors
from stream_jobs.replica.replica import Replica
from tests.integration.mirror.replica_target import ReplicaTarget, replica_target
from tests.integration.mirror.test_cuts import cuts, go_on
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.server]

COLUMNS = (column("id", "int", key=1), column("amount", "decimal", precision=10, scale=2))


@pytest.fixture
def target(job: Job, mysql_server: Any) -> Iterator[ReplicaTarget]:
    yield from replica_target(job, mysql_server.endpoint)


@pytest.fixture
def orders(kafka: Kafka) -> SourceTable:
    return SourceTable(kafka, "orders", COLUMNS).create()


def row(number: int, amount: str = "1.50") -> dict[str, Any]:
    return {"id": number, "amount": amount}


def error_of(target: ReplicaTarget, kafka: Kafka, replica: Replica | None = None) -> str:
    """Return the error of a replica that cannot take the next cut, with TARGET and DB."""
    go_on(kafka)
    target.job.run()
    with pytest.raises(ConnectorError) as caught:
        (replica or target.replica).apply_newest()
    (replica or target.replica).close()
    text = str(caught.value).replace(f"127.0.0.1:{target.endpoint.port}", "HOST")
    return text.replace(target.prefix, "T")


def make(target: ReplicaTarget, definition: str, *more: str) -> None:
    target.sql(f"CREATE DATABASE {target.database}", f"USE {target.database}", definition, *more)


AGAIN = "DROP TABLE it at the target: then the replica makes it and loads it"


def test_a_table_that_does_not_fit_is_refused_with_everything_that_is_wrong(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    make(
        target,
        "CREATE TABLE orders (a INT PRIMARY KEY, amount DECIMAL(20,1), at DATETIME(3), d FLOAT, "
        "b BINARY(9), id INT) ENGINE=MyISAM",
    )
    columns = (column("d", "double"), column("b", "binary", length=4), column("x", "int"))
    at = column("at", "datetime", fraction=6)
    SourceTable(kafka, "orders", (*COLUMNS, at, *columns)).create().insert(
        {**row(1), "at": None, "d": None, "b": None, "x": 1}
    )
    assert error_of(target, kafka) == (
        "[M907] target HOST: the table T_shop.orders does not fit the mirror:\n"
        "  its engine is MyISAM, and transactions need InnoDB\n"
        "  its primary key is (a), not (id)\n"
        "  amount: it is decimal with 1 decimals, and the mirror has decimal(10,2)\n"
        "  at: it is datetime(3), and the mirror has datetime(6)\n"
        "  d: it is float, and the mirror has double\n"
        "  b: it is binary(9), and the mirror has binary(4)\n"
        f"  it has no column x; ALTER TABLE it, or {AGAIN}"
    )
    with pytest.raises(MirrorError) as caught:
        target.replica.apply_newest()
    assert caught.value.code is replica_errors.UNFIT_TABLE


def test_a_table_with_rows_of_others_is_not_touched(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    make(
        target,
        "CREATE TABLE orders (id INT PRIMARY KEY, amount DECIMAL(10,2))",
        "INSERT INTO orders VALUES (7, 7)",
    )
    orders.insert(row(1))
    assert error_of(target, kafka) == (
        "[M908] target HOST: the table T_shop.orders has rows, and was not loaded by this "
        f"replica; TRUNCATE it, or {AGAIN}"
    )
    assert len(target.rows("orders")) == 1


def test_a_value_that_does_not_fit_is_not_shown(kafka: Kafka, target: ReplicaTarget) -> None:
    make(target, "CREATE TABLE t (id INT PRIMARY KEY, v TINYINT, e ENUM('a') NOT NULL)")
    columns = (column("v", "bigint"), column("e", "enum", labels=["a"]))
    table = SourceTable(kafka, "t", (column("id", "int", key=1), *columns)).create()
    table.insert({"id": 1, "v": 4711, "e": "a"})
    refused = (
        "[M909] target HOST: a column of the table T_shop.t does not hold a value of the mirror "
        "(error 1264); compare the columns with those of the source, and ALTER TABLE it, or "
        f"{AGAIN}"
    )
    assert error_of(target, kafka) == refused
    # Outside strict mode, for the error value of ENUM, the number of warnings says it.
    table.update({"id": 1, "v": 4711, "e": "a"}, {"id": 1, "v": 4711, "e": ""})
    assert error_of(target, kafka) == refused.replace("1264", "1265")


def test_a_unique_key_that_the_source_does_not_have_is_named(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    make(target, "CREATE TABLE orders (id INT PRIMARY KEY, amount DECIMAL(10,2) UNIQUE)")
    orders.insert(row(1), row(2))
    assert error_of(target, kafka) == (
        "[M910] target HOST: two rows of the table T_shop.orders have the same value in a unique "
        "key (error 1062); look for unique keys that the source does not have, for collations that "
        f"differ, and for rows that another program has written; or {AGAIN}"
    )


def test_rights_that_are_missing_are_named(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    user = f"u{uuid.uuid4().hex[:8]}"
    target.sql(f"CREATE USER {user} IDENTIFIED BY 'x'", f"GRANT ALL ON _cdc.* TO {user}")
    orders.insert(row(1))
    url = f"mysql://{user}@127.0.0.1:{target.endpoint.port}/"
    assert error_of(target, kafka, target.new(url=url, password="x")) == (
        "[M911] target HOST: the account may not do what the replica needs (error 1044): Access "
        f"denied for user '{user}'@'%' to database 'T_shop'; grant it; docs/replica.md has a list"
    )
    wrong = error_of(target, kafka, target.new(url=url, password="y"))
    assert wrong == (
        f"[S223] target HOST: error 1045: Access denied for user '{user}'@'127.0.0.1' (using "
        "password: YES); check the URL's user and password, and that the account may log in from "
        "this host"
    )
    # Those of docs/replica.md.
    target.sql(
        f"REVOKE ALL ON _cdc.* FROM {user}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON _cdc.* TO {user}",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP "
        f"ON `{target.database}`.* TO {user}",
    )
    replica = target.new(url=url, password="x")
    replica.apply_newest()
    orders.alter(COLUMNS[0], column("late", "int")).insert({"id": 2, "late": 3})
    go_on(kafka)
    target.job.apply()
    replica.apply_newest()
    replica.close()
    assert target.rows("orders") == [(1, None), (2, 3)]
    target.sql(f"DROP USER {user}")


def test_a_row_that_is_too_large_is_not_sent(kafka: Kafka, target: ReplicaTarget) -> None:
    files = SourceTable(kafka, "files", (column("id", "int", key=1), column("v", "blob"))).create()
    files.insert({"id": 1, "v": "AAAA" * 200_000})
    ((before,),) = target.sql("SELECT @@GLOBAL.max_allowed_packet")
    target.sql("SET GLOBAL max_allowed_packet = 1048576")
    try:
        assert error_of(target, kafka) == (
            "[M912] target HOST: a row of the table T_shop.files is larger than the server takes "
            "(error 1153); raise max_allowed_packet at the target to that of the source; "
            "hexadecimal digits of binary values need twice as much"
        )
    finally:
        target.sql(f"SET GLOBAL max_allowed_packet = {before}")


def test_a_table_that_somebody_has_dropped_is_named_and_made_again(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1))
    target.follow(kafka)
    target.sql(f"DROP TABLE {target.database}.orders")
    orders.insert(row(2))
    assert error_of(target, kafka) == (
        "[M913] target HOST: the server refuses a statement for T_shop.orders (error 1146); look "
        f"at its log and its settings; if the table is damaged, {AGAIN}"
    )
    step = target.replica.apply_newest()
    assert step is not None
    assert step.loaded == ["shop.orders"]
    assert len(target.rows("orders")) == 2


def test_a_deadlock_is_tried_again(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    others = SourceTable(kafka, "others", COLUMNS).create()
    orders.insert(row(1))
    others.insert(row(1))
    target.follow(kafka)
    orders.update(row(1), row(1, "2.00"))
    others.update(row(1), row(1, "2.00"))
    go_on(kafka)
    job.apply()
    found: list[ConnectorError] = []
    first, second = (name.removeprefix("shop.") for name in cuts(job)[-1].tables)

    def apply() -> None:
        with pytest.raises(SourceUnavailable) as caught:
            target.replica.apply_newest()
        found.append(caught.value)

    with connect(target.endpoint, target.database) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE heavy (id INT PRIMARY KEY)")
        connection.begin()
        # The server gives up the transaction that has written less.
        values = ",".join(f"({number})" for number in range(100))
        cursor.execute(f"INSERT INTO heavy VALUES {values}")
        # The one of which the replica has no row yet.
        cursor.execute(f"UPDATE {second} SET amount = 9")
        thread = threading.Thread(target=apply, daemon=True)
        thread.start()
        waits = "SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
        while thread.is_alive() and not target.sql(waits):
            # The server renews this view only if nobody has asked for 0.1 s.
            time.sleep(0.2)
        cursor.execute(f"UPDATE {first} SET amount = 9")
        thread.join()
        connection.rollback()
    assert str(found[0]) == (
        f"[M914] target 127.0.0.1:{target.endpoint.port}: another transaction holds rows that the "
        "replica writes (error 1213); end programs that write to these tables; the cut is applied "
        "again"
    )
    target.replica.apply_newest()
    assert [str(each[1]) for each in target.rows("orders")] == ["2.00"]


def test_a_replica_belongs_to_one_mirror_and_never_goes_back(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1))
    target.follow(kafka)
    where = f"WHERE name = '{target.prefix}'"
    ((path,),) = target.sql(f"SELECT mirror FROM _cdc.replica {where}")
    target.sql(f"UPDATE _cdc.replica SET mirror = '/data/other' {where}")
    orders.insert(row(2))
    assert error_of(target, kafka, target.new()) == (
        "[M904] target HOST: the replica 'T' was made from the mirror at /data/other, not from "
        f"{path}; use another `name` in the configuration, or delete the rows of this replica in "
        "_cdc.replica and _cdc.replica_tables, and its tables"
    )
    target.sql(f"UPDATE _cdc.replica SET mirror = '{path}', cut = 99, seq = '{'9' * 38}' {where}")
    assert error_of(target, kafka, target.new()) == (
        f"[M906] target HOST: the replica has cut 99 of the mirror at {path}, whose newest cut 2 "
        "is older; if the mirror was made again, delete the rows of this replica in _cdc.replica "
        "and _cdc.replica_tables, and its tables"
    )


def test_a_replica_follows_cuts_that_begin_again_lower_when_all_tables_were_made_again(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1), row(2))
    target.follow(kafka)
    number, seq = target.marker
    for topic in (f"{kafka.prefix}.progress", f"{kafka.prefix}.schema"):
        kafka.delete_topic(topic)
    kafka.make_again(orders.topic)
    # As after a failover: what comes now is in a lower epoch than before.
    kafka._position = 0
    orders.create()
    orders.insert(row(3))
    go_on(kafka)
    target.job.run()
    target.job.resume("shop.orders", rebuild=True)
    applied = target.follow(kafka)
    assert applied is not None
    assert applied.loaded == ["shop.orders"]
    assert [found for found, _ in target.rows("orders")] == [3]
    newest, lower = target.marker
    assert newest > number
    assert lower < seq


def test_a_target_must_be_configured(job: Job) -> None:
    with pytest.raises(ConfigError) as caught:
        Replica(job.settings())
    assert str(caught.value) == (
        "[M901] replica.url does not name the server that is to be kept equal to the mirror; set "
        "it to mysql://user@host:port/, and the password in STREAM_JOB_REPLICA__PASSWORD"
    )
    with pytest.raises(ConfigError) as caught:
        Replica(job.settings(replica={"url": "mysql://a@b/path"}))
    assert str(caught.value) == (
        "[C202] replica.url: the source's URL is not mysql://user:password@host:port/; write it in "
        "this form; options follow a question mark"
    )


def test_a_server_that_is_not_there_is_the_target_in_errors(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1))
    text = error_of(target, kafka, target.new(url="mysql://a@127.0.0.1:1/"))
    assert text.startswith("[S101] target 127.0.0.1:1")
    assert "source" not in text


def test_two_tables_are_not_written_to_one(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    other = SourceTable(kafka, "orders", COLUMNS, "erp").create()
    orders.insert(row(1))
    other.insert(row(1))
    assert error_of(target, kafka, target.new(database=target.database)) == (
        "[M915] target HOST: erp.orders, shop.orders would both be the table T_shop.orders; set "
        'replica.database to a name with {database} in it, such as "copy_{database}"; if only the '
        "case of letters differs, give one of them another `name` in [[tables]]"
    )


def test_a_target_that_ignores_case_has_one_table_for_a_name(
    kafka: Kafka, job: Job, tmp_path: Path
) -> None:
    with MariadbServer(tmp_path / "server", settings={"lower_case_table_names": "1"}) as server:
        target = ReplicaTarget(job, server.endpoint)
        first = SourceTable(kafka, "Orders", COLUMNS).create()
        first.insert(row(1))
        target.follow(kafka)
        assert len(target.rows("orders")) == 1
        first.delete(row(1))
        target.follow(kafka)
        # Its table is empty now, and fits.
        second = SourceTable(kafka, "orders", COLUMNS).create()
        second.insert(row(2))
        for replica in (target.replica, target.new()):
            assert error_of(target, kafka, replica).startswith(
                "[M915] target HOST: shop.Orders, shop.orders would both be the table T_shop.orders"
            )
        assert target.rows("orders") == []


def test_rows_of_several_bytes_a_character_are_sent_in_parts(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    columns = (column("k", "text", key=1, charset="utf8mb4"), column("v", "text"))
    texts = SourceTable(kafka, "texts", columns).create()
    # The keys alone are more than a packet.
    rows: list[dict[str, Any]] = [
        {"k": f"{number}{'語' * 2000}", "v": None} for number in range(14)
    ]
    # It fits alone, and not with others.
    rows.insert(7, {"k": "7", "v": "語" * 20_500})
    ((before,),) = target.sql("SELECT @@GLOBAL.max_allowed_packet")
    target.sql("SET GLOBAL max_allowed_packet = 65536")
    try:
        texts.insert(*rows)
        target.follow(kafka)
        assert len(target.rows("texts")) == 15
        texts.delete(*rows[:7], *rows[8:])
        target.follow(kafka)
        assert len(target.rows("texts")) == 1
    finally:
        target.sql(f"SET GLOBAL max_allowed_packet = {before}")
