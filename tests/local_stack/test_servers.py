"""A private server is started, stopped, killed and started again; its data stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kafka.admin import KafkaAdminClient

from local_stack import connect

if TYPE_CHECKING:
    from local_stack import KafkaBroker, MariadbServer, MysqlServer


@pytest.mark.server
def test_mysql_starts_as_a_source(mysql_server: MysqlServer) -> None:
    with connect(mysql_server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT @@log_bin, @@binlog_format, @@binlog_row_image, @@binlog_row_metadata,"
            " @@gtid_mode"
        )
        assert cursor.fetchone() == (1, "ROW", "FULL", "FULL", "ON")


@pytest.mark.server
def test_mariadb_starts_as_a_source(mariadb_server: MariadbServer) -> None:
    with connect(mariadb_server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT @@log_bin, @@binlog_format, @@binlog_row_image, @@binlog_row_metadata"
        )
        assert cursor.fetchone() == (1, "ROW", "FULL", "FULL")


@pytest.mark.server
def test_a_killed_server_comes_back_with_its_rows_on_the_same_port(
    mysql_server: MysqlServer, database: str
) -> None:
    before = mysql_server.endpoint
    with connect(before, database) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        cursor.execute("INSERT INTO t VALUES (1)")
    mysql_server.kill()
    assert mysql_server.start() == before
    with connect(before, database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM t")
        assert cursor.fetchall() == ((1,),)


@pytest.mark.kafka
def test_a_killed_broker_comes_back_with_its_topics_on_the_same_port(
    kafka_broker: KafkaBroker,
) -> None:
    before = kafka_broker.endpoint
    admin = KafkaAdminClient(bootstrap_servers=before.bootstrap)
    admin.create_topics({"kept": {"num_partitions": 1, "replication_factor": 1}})
    admin.close()
    kafka_broker.kill()
    assert kafka_broker.start() == before
    admin = KafkaAdminClient(bootstrap_servers=before.bootstrap)
    assert "kept" in admin.list_topics()
    admin.close()
