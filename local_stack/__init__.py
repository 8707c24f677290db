"""Private MySQL, MariaDB, Kafka and Java without Docker, for the demo and the tests.

Real servers from package registries, as processes on 127.0.0.1 that end with their owner::

    with MysqlServer(Path("source")) as mysql, KafkaBroker(Path("broker")) as kafka:
        connect(mysql.endpoint), kafka.endpoint.bootstrap
"""

from local_stack.java import java_runtime
from local_stack.kafka import KafkaBroker
from local_stack.server import Endpoint, Server, connect
from local_stack.source import ExternalServer, SourceChoice, source_server
from local_stack.spark import spark_jars, spark_java_options
from local_stack.sql_server import (
    MARIADB_SOURCE_SETTINGS,
    MYSQL_SOURCE_SETTINGS,
    MariadbServer,
    MysqlServer,
)

__all__ = [
    "MARIADB_SOURCE_SETTINGS",
    "MYSQL_SOURCE_SETTINGS",
    "Endpoint",
    "ExternalServer",
    "KafkaBroker",
    "MariadbServer",
    "MysqlServer",
    "Server",
    "SourceChoice",
    "connect",
    "java_runtime",
    "source_server",
    "spark_jars",
    "spark_java_options",
]
