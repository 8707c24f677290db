"""`check` says what `run` says, word for word and with its exit code, and leaves no trace."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from connector.cli import command_errors
from connector.foundation.errors.message import Message
from connector.kafka import connection_errors
from connector.kafka.kafka_python import network_client
from connector.stream.progress import progress_errors
from connector.stream.sink import kafka_errors
from connector.stream.snapshot import copy_errors
from connector.stream.source import setup_errors
from local_stack import connect
from local_stack.server import HOST, free_port
from tests import forked_command
from tests.foundation.errors.texts import shown
from tests.integration.database_stream import new_stream
from tests.integration.harness import failure_of, wait_until
from tests.integration.start.kafka_doors import PASSWORD, USER, open_doors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode
    from local_stack import MysqlServer
    from tests.integration.database_stream import Stream
    from tests.integration.start.kafka_doors import Doors

pytestmark = [pytest.mark.server, pytest.mark.kafka]

PATIENCE_SECONDS = 120.0
ONCE: dict[str, object] = {"retry__attempts_max": 1}
LOGIN: dict[str, object] = {
    "kafka__security_protocol": "SASL_PLAINTEXT",
    "kafka__sasl_mechanism": "PLAIN",
    "kafka__sasl_username": USER,
    "kafka__sasl_password": PASSWORD,
}
TLS: dict[str, object] = {"kafka__security_protocol": "SSL"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command has ended."""

    code: int
    shown: list[str]  # on standard output
    said: str  # on standard error

    @property
    def error(self) -> str:
        """The last error; a run says it as JSON, with its code as a field."""
        if self.said.startswith("{"):
            code = json.loads(self.said.splitlines()[-1])["error.code"]
            return f"[{code}] {failure_of(self.said)}"
        return self.said.rpartition("error: ")[2].strip()


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    """A broker with a listener of each kind."""
    with open_doors(tmp_path_factory.mktemp("doors")) as doors:
        yield doors


@pytest.fixture
def stream(mysql_server: MysqlServer, doors: Doors, tmp_path: Path) -> Iterator[Stream]:
    """Follow a new database, into that broker."""
    stream = new_stream(mysql_server.endpoint, doors.broker.endpoint, tmp_path)
    yield stream
    stream.execute(f"DROP DATABASE {stream.database}")


def ended(config: Path, *names: str) -> list[Ended]:
    """Run commands beside each other to their end; each word CONFIG is the configuration."""
    commands = [name.replace("CONFIG", str(config)).split() for name in names]
    return [
        Ended(done.returncode, done.stdout.splitlines(), done.stderr)
        for done in forked_command.run_all(commands, PATIENCE_SECONDS)
    ]


def of_both(stream: Stream, **changed: object) -> Ended:
    """Return how `check` ended, which `run` has to do alike."""
    config = stream.config(**ONCE, **changed)
    check, run = ended(config, "check CONFIG", "run CONFIG")
    assert check.error == run.error, (check, run)
    assert check.code == run.code, (check, run)
    assert check.shown[-1] == "not ready"
    return check


def kept_out(servers: str, code: ErrorCode, **facts: object) -> str:
    """Return what a program says that no broker of `servers` lets in."""
    return shown(connection_errors.WAY, servers=servers, why=Message(code, facts))


def unreached(address: str) -> Message:
    """Return what is said of an address that a broker gave."""
    why = Message(connection_errors.NO_CONNECTION, {"why": "Connection refused"})
    return Message(connection_errors.AT_ADVERTISED, {"address": address, "why": why})


@dataclass(frozen=True, slots=True)
class Case:
    """One way to be kept out of Kafka."""

    door: str
    changed: Callable[[Doors], dict[str, object]]
    why: ErrorCode
    code: int = 3
    values: Callable[[Doors], dict[str, Any]] = lambda _: {}


CASES = {
    "TLS to a plaintext listener": Case(
        "PLAINTEXT",
        lambda _: TLS,
        connection_errors.NO_TLS,
        values=lambda _: {"protocol": "SSL", "right": "PLAINTEXT"},
    ),
    "TLS to a plaintext listener with a login": Case(
        "LOGIN",
        lambda _: TLS,
        connection_errors.NO_TLS,
        values=lambda _: {"protocol": "SSL", "right": "SASL_PLAINTEXT"},
    ),
    "plaintext to a TLS listener": Case(
        "TLS",
        lambda _: {},
        connection_errors.TLS_ALONE,
        values=lambda _: {"protocol": "PLAINTEXT", "right": "SSL"},
    ),
    "plaintext to a TLS listener with a login": Case(
        "TLS_LOGIN",
        lambda _: LOGIN,
        connection_errors.TLS_ALONE,
        values=lambda _: {"protocol": "SASL_PLAINTEXT", "right": "SASL_SSL"},
    ),
    "a certificate that nobody trusts": Case(
        "TLS",
        lambda _: TLS,
        connection_errors.CERTIFICATE,
        values=lambda _: {"why": "unable to get local issuer certificate"},
    ),
    "a certificate of another name": Case(
        "OTHER_NAME",
        lambda doors: TLS | {"kafka__ssl_ca": str(doors.authority)},
        connection_errors.CERTIFICATE,
        values=lambda _: {
            "why": f"IP address mismatch, certificate is not valid for '{HOST}'",
        },
    ),
    "no certificate of the client": Case(
        "MUTUAL",
        lambda doors: TLS | {"kafka__ssl_ca": str(doors.authority)},
        connection_errors.CLIENT_CERTIFICATE,
    ),
    "a login that is not configured": Case(
        "LOGIN",
        lambda _: {},
        connection_errors.WANTS_LOGIN,
        values=lambda _: {
            "offered": "PLAIN",
            "protocol": "PLAINTEXT",
            "right": "SASL_PLAINTEXT",
        },
    ),
    "a login that is not offered": Case(
        "PLAINTEXT",
        lambda _: LOGIN,
        connection_errors.TAKES_NO_LOGIN,
        values=lambda _: {"protocol": "SASL_PLAINTEXT", "right": "PLAINTEXT"},
    ),
    "a mechanism that is not offered": Case(
        "LOGIN",
        lambda _: LOGIN | {"kafka__sasl_mechanism": "SCRAM-SHA-256"},
        connection_errors.OTHER_MECHANISM,
        values=lambda _: {"offered": "PLAIN", "mechanism": "SCRAM-SHA-256"},
    ),
    "a wrong password": Case(
        "LOGIN",
        lambda _: LOGIN | {"kafka__sasl_password": "wrong"},
        connection_errors.LOGIN_REFUSED,
    ),
    "an advertised address where nobody listens": Case(
        "LOST",
        lambda _: {},
        connection_errors.ADVERTISED,
        1,
        lambda doors: {"addresses": [unreached(doors.lost)]},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_listener_that_does_not_let_us_in(stream: Stream, doors: Doors, case: Case) -> None:
    address = doors.address(case.door)
    found = of_both(stream, kafka__bootstrap_servers=[address], **case.changed(doors))
    assert found.code == case.code
    assert found.error == kept_out(address, case.why, **case.values(doors))


def test_nobody_listens(stream: Stream) -> None:
    address = f"{HOST}:{free_port()}"
    config = stream.config(**ONCE, kafka__bootstrap_servers=[address])
    expected = kept_out(address, connection_errors.NO_CONNECTION, why="Connection refused")
    for found in ended(
        config,
        "check CONFIG",
        "run CONFIG",
        f"snapshot CONFIG {stream.database}.*",
        "quarantine list CONFIG",
    ):
        assert found.error == expected
        assert found.code == 1


def test_a_name_that_does_not_resolve(stream: Stream) -> None:
    found = of_both(stream, kafka__bootstrap_servers=["no-such-broker.invalid:9092"])
    servers = "no-such-broker.invalid:9092"
    # Without a name server, nobody knows.
    expected = {3: kept_out(servers, connection_errors.NO_NAME)}
    expected[1] = kept_out(servers, connection_errors.NO_NAME_NOW)
    assert found.error == expected[found.code]


def test_each_of_several_addresses_has_its_cause(stream: Stream, doors: Doors) -> None:
    addresses = [doors.address("TLS"), f"{HOST}:{free_port()}"]
    found = of_both(stream, kafka__bootstrap_servers=addresses)
    assert found.code == 1
    tls = Message(connection_errors.TLS_ALONE, {"protocol": "PLAINTEXT", "right": "SSL"})
    gone = Message(connection_errors.NO_CONNECTION, {"why": "Connection refused"})
    problems = [
        Message(connection_errors.AT_ADDRESS, {"address": address, "why": why})
        for address, why in sorted(zip(addresses, (tls, gone), strict=True), key=itemgetter(0))
    ]
    assert found.error == kept_out(
        ",".join(addresses), connection_errors.SEVERAL, problems=problems
    )


def test_what_is_being_asked_is_told(stream: Stream, doors: Doors) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    door = doors.address("TLS_LOGIN")
    (found,) = ended(
        stream.config(
            kafka__bootstrap_servers=[door],
            **LOGIN | {"kafka__security_protocol": "SASL_SSL"},
            kafka__ssl_ca=str(doors.authority),
        ),
        "check CONFIG",
    )
    assert found.code == 0, found
    assert found.shown[0] == f"Kafka {door}: pipeline {stream.prefix} begins"
    assert found.shown[-1] == "ready"
    assert found.said.splitlines() == [
        f"asking Kafka {door} what it takes …",
        f"reading from Kafka what pipeline {stream.prefix} has committed …",
        f"asking source {stream.source.host}:{stream.source.port} …",
        "looking for changes that would not arrive as rows …",
        "looking at the newest keys of the topics …",
        "reading the states of copies and fences …",
    ]


def test_tables_whose_rows_foreign_keys_change_are_named(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY)",
        "CREATE TABLE items (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES orders (id) "
        "ON DELETE CASCADE)",
    )
    (found,) = ended(stream.config(), "check CONFIG")
    assert (found.code, found.shown[-1]) == (0, "ready")
    gap = found.shown.index("Changes of followed tables that would not arrive as whole rows:") + 1
    said = (
        "R-log-row-format: [S651] foreign keys change rows of these tables without a trace in the "
        f"log of this server: {stream.database}.items"
    )
    advice = (
        "  they are copied again after such changes, all of a table after a delete with CASCADE; "
        "schema.cascade_seconds says how often"
    )
    assert found.shown[gap : gap + 2] == [said, advice]


def test_more_replicas_than_brokers(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    expected = shown(kafka_errors.REPLICAS, servers=stream.broker.bootstrap, factor=3, brokers=1)
    found = of_both(stream, kafka__replication_factor=3)
    assert (found.code, found.error) == (3, expected)
    # Nor does a run begin that has its topics.
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        assert connector.terminate() == 0
    found = of_both(stream, kafka__replication_factor=3)
    assert (found.code, found.error) == (3, expected)


def test_a_position_that_was_purged(stream: Stream, mysql_server: MysqlServer) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        assert connector.terminate() == 0
    stream.execute("INSERT INTO t VALUES (2)", "FLUSH BINARY LOGS")
    with connect(mysql_server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        last = cursor.fetchall()[-1][0]
        cursor.execute(f"PURGE BINARY LOGS TO '{last}'")
    found = of_both(stream)
    assert found.code == 3
    assert re.sub(r"[0-9a-f-]{36}:\d+(-\d+)?", "GTIDS", found.error) == (
        f"[S424] source {stream.source.host}:{stream.source.port}: the server has purged "
        "transactions that were not read: GTIDS; if the stream goes on without them, changes "
        "are lost: give "
        "the pipeline a new name and start over, or point it at a replica that still has them; "
        "keep logs longer with binlog_expire_logs_seconds"
    )


def test_a_progress_record_that_cannot_be_read(stream: Stream) -> None:
    with stream.connector() as connector:
        connector.wait_for('"message": "streaming"')
        assert connector.terminate() == 0
    producer = KafkaProducer(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    topic = f"{stream.prefix}.progress"
    sent = producer.send(topic, b"{}", key=stream.prefix.encode(), partition=0).get(10)
    producer.close()
    found = of_both(stream)
    assert found.code == 3
    why = re.search(r"version \((.*)\)", found.error)
    assert why is not None
    record = f"{topic}[0]@{sent.offset}"
    assert found.error == shown(progress_errors.PROGRESS, record=record, why=why[1])


def test_records_of_another_profile(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        assert connector.terminate() == 0
    config = stream.config(**ONCE, envelope__profile="debezium")
    check, run = ended(config, "check CONFIG", "run CONFIG")
    facts = {"now": "debezium", "before": "exact", "prefix": stream.prefix}
    assert check.error == run.error == shown(setup_errors.PROFILE_CHANGED, **facts)
    assert check.code == run.code == 2


def test_a_table_of_signals_that_is_not_followed(stream: Stream) -> None:
    config = stream.config(**ONCE, signals__table="other.signals")
    check, run = ended(config, "check CONFIG", "run CONFIG")
    expected = shown(copy_errors.SIGNALS_NOT_FOLLOWED, table="other.signals")
    assert check.error == run.error == expected
    assert check.code == run.code == 2


def test_topics_with_keys_of_another_form_are_told_and_a_run_begins(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY)",
        "CREATE TABLE c (id INT)",
        *(f"INSERT INTO {table} VALUES (1)" for table in "abc"),
    )
    debezium: dict[str, object] = {"envelope__profile": "debezium", "kafka__partitions": 2}
    with stream.connector(**debezium) as connector:
        stream.wait_for_changes(3, connector)
        assert connector.terminate() == 0
    a, b = (f"{stream.prefix}.{stream.database}.{table}" for table in "ab")
    with closing(
        KafkaProducer(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    ) as producer:
        in_b = producer.send(b, b"{}", key=b"Struct{id=1}", partition=0).get(10)
    schemas: dict[str, object] = {"envelope__key_format": "json_with_schema"}
    (unchanged,) = ended(stream.config(**debezium), "check CONFIG")
    (changed,) = ended(stream.config(**debezium | schemas), "check CONFIG")

    def other(table: str, topic: str, record: str, wanted: str) -> str:
        facts = {"table": f"{stream.database}.{table}", "topic": topic, "record": record}
        return shown(command_errors.OTHER_KEY, **facts, wanted=wanted)

    record_of_b = f"{b}[0]@{in_b.offset}"
    told = [line for line in unchanged.shown if "[K51" in line]
    assert told == [other("b", b, record_of_b, "json")]
    first, second = (line for line in changed.shown if "[K51" in line)
    record = re.search(r"\((\S+)\)", first)
    assert record is not None
    assert re.fullmatch(rf"{re.escape(a)}\[[01]\]@0", record[1])
    assert first == shown(
        command_errors.KEY_FORM,
        table=f"{stream.database}.a",
        topic=a,
        record=record[1],
        found="json",
        wanted="json_with_schema",
    )
    assert second == other("b", b, record_of_b, "json_with_schema")
    assert (changed.code, changed.shown[-1]) == (0, "ready")
    # Then the newest key has the new form.
    stream.execute("INSERT INTO a VALUES (2)")
    config = stream.config(**debezium | schemas)
    with stream.connector(**debezium | schemas):
        wait_until(lambda: _checked(config) == [second], lambda: "no new key")
        assert connector.terminate() == 0


def _checked(config: Path) -> list[str]:
    """Return what `check` says of keys."""
    (found,) = ended(config, "check CONFIG")
    return [line for line in found.shown if "[K51" in line]


def test_a_source_that_is_down(stream: Stream) -> None:
    port = free_port()
    found = of_both(stream, source__port=port)
    assert found.code == 1
    assert found.error == (
        f"[S101] source 127.0.0.1:{port}: cannot connect: Connection refused; check that the "
        "server runs, source.host, source.port and firewalls"
    )


def test_a_wrong_password_of_the_source(stream: Stream) -> None:
    found = of_both(stream, source__password="wrong")
    assert found.code == 3
    assert found.error == (
        f"[S223] source {stream.source.host}:{stream.source.port}: error 1045: Access denied for "
        "user 'root'@'127.0.0.1' (using password: YES); check source.user and source.password, and "
        "that the account may log in from this host"
    )


def test_missing_grants(stream: Stream) -> None:
    stream.execute("CREATE USER IF NOT EXISTS nobody@'%' IDENTIFIED BY 'right'")
    found = of_both(stream, source__user="nobody", source__password="right")
    assert found.code == 3
    assert found.error == (
        f"[S601] source {stream.source.host}:{stream.source.port}: the server cannot be followed "
        "as it is set up:\n"
        "  [S631] grant REPLICATION SLAVE is missing, wanted granted; "
        "GRANT REPLICATION SLAVE ON *.* TO 'nobody'@'%'\n"
        "  [S631] grant REPLICATION CLIENT is missing, wanted granted; "
        "GRANT REPLICATION CLIENT ON *.* TO 'nobody'@'%'"
    )


def test_the_worst_of_several_problems_decides(stream: Stream) -> None:
    gone = f"{HOST}:{free_port()}"
    config = stream.config(kafka__bootstrap_servers=[gone], source__password="wrong")
    (found,) = ended(config, "check CONFIG")
    assert found.code == 3
    _, first, second = found.said.split("error: ", 2)
    assert first.strip() == kept_out(
        gone, connection_errors.NO_CONNECTION, why="Connection refused"
    )
    assert second.startswith("[S223] source ")


def test_nothing_is_created_and_nobody_is_fenced(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    config = stream.config()
    (before,) = ended(config, "check CONFIG")
    assert before.code == 0, before
    admin = KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    try:
        assert [name for name in admin.list_topics() if stream.prefix in name] == []
    finally:
        admin.close()
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        (meanwhile,) = ended(config, "check CONFIG")
        assert meanwhile.code == 0, meanwhile
        goes_on = f"Kafka {stream.broker.bootstrap}: pipeline {stream.prefix} goes on at "
        assert meanwhile.shown[0].startswith(goes_on)
        assert re.fullmatch(r"binlog\.\d+:\d+", meanwhile.shown[0].removeprefix(goes_on))
        stream.execute("INSERT INTO t VALUES (2)")
        stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
        assert "interrupted" not in connector.output()
