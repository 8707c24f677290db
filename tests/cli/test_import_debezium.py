"""`import-debezium`: each property becomes a key, a comment or an error; the result is read."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from connector.cli import command_errors
from connector.foundation.settings import settings_errors
from connector.foundation.settings.configuration import load_settings
from connector.foundation.settings.sections import NotificationSettings, SignalSettings
from connector.stream.migration import migration_errors
from tests.application import invoke
from tests.foundation.errors.texts import shown

if TYPE_CHECKING:
    from connector.foundation.settings.sections import Settings

JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
REGISTRY = {"value.converter.schema.registry.url": "http://a:8081"}
LEAST = {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "database.hostname": "db1",
    "topic.prefix": "shop",
    "key.converter": JSON,
    "key.converter.schemas.enable": "false",
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    "schema.history.internal.kafka.bootstrap.servers": "k1:9092, k2:9092",
}


class Imported:
    """What the command did with a connector."""

    def __init__(
        self, folder: Path, document: object, *arguments: str, config: str = "my.toml"
    ) -> None:
        self.source = folder / "connector.json"
        self.source.write_text(document if isinstance(document, str) else json.dumps(document))
        self.config = folder / config
        options = ["-o", str(self.config), *arguments]
        done = invoke(["import-debezium", str(self.source), *options])
        self.code, self.warnings = done.exit_code, done.stderr

    @property
    def text(self) -> str:
        return self.config.read_text()

    @property
    def settings(self) -> Settings:
        assert self.code == 0, self.warnings
        return load_settings(self.config)


def imported(folder: Path, *arguments: str, **properties: Any) -> Imported:
    """Import the least configuration with other properties; `__` stands for a dot."""
    changed = {name.replace("__", "."): value for name, value in properties.items()}
    return Imported(folder, {"name": "shop-connector", "config": LEAST | changed}, *arguments)


def test_both_forms_of_the_json_give_the_same(tmp_path: Path) -> None:
    with_name = imported(tmp_path).text
    plain = Imported(tmp_path, {"name": "shop-connector"} | LEAST)
    said = "\n# Not needed:\n#   name = shop-connector: it is the name above\n"
    assert plain.text.replace(said, "\n# Not needed:\n") == with_name
    nameless = Imported(tmp_path, LEAST)
    assert nameless.settings.name == "shop"


def test_the_least_configuration(tmp_path: Path) -> None:
    done = imported(tmp_path)
    found = done.settings
    assert (found.name, found.source.host, found.source.start) == (
        "shop-connector",
        "db1",
        "snapshot",
    )
    assert found.kafka.bootstrap_servers == ["k1:9092", "k2:9092"]
    assert (found.kafka.topic_prefix, found.source.tables) == ("shop", ["*.*"])
    assert (found.envelope.profile, found.envelope.value_format) == ("debezium", "json")
    assert done.warnings == ""
    assert stat.S_IMODE(done.config.stat().st_mode) == 0o600


def test_the_text_says_what_each_property_became(tmp_path: Path) -> None:
    done = imported(
        tmp_path, database__port=3307, tasks__max="1", incremental__snapshot__chunk__size="9"
    )
    assert "# database.port = 3307\nport = 3307\n" in done.text
    assert "#   tasks.max = 1: one process reads one log\n" in done.text
    assert "`binlog-connector snapshot` asks the running pipeline for a copy" in done.text


def test_it_prints_the_configuration_without_a_file(tmp_path: Path) -> None:
    path = tmp_path / "connector.json"
    path.write_text(json.dumps(LEAST))
    done = invoke(["import-debezium", str(path)])
    assert done.exit_code == 0
    assert done.stdout.startswith("# From connector shop, by `binlog-connector import-debezium`.\n")


@pytest.mark.parametrize(
    ("name", "value", "key", "found"),
    [
        ("database.port", "3307", "source.port", 3307),
        ("database.user", "dbz", "source.user", "dbz"),
        ("database.server.id", "184054", "source.server_id", 184054),
        ("connect.timeout.ms", "5000", "source.connect_timeout_seconds", 5.0),
        ("database.ssl.mode", "required", "source.tls.mode", "required"),
        ("snapshot.mode", "no_data", "source.start", "latest"),
        ("snapshot.max.threads", "4", "snapshot.connections", 4),
        ("database.include.list", "shop,crm", "source.tables", ["shop.*", "crm.*"]),
        ("database.exclude.list", "tmp.*", "source.exclude_tables", ["tmp*.*"]),
        ("table.include.list", r"shop\.o.*,shop.t", "source.tables", ["shop.o*", "shop.t"]),
        ("table.whitelist", "shop.t", "source.tables", ["shop.t"]),
        ("table.exclude.list", r"shop\.log", "source.exclude_tables", ["shop.log"]),
        ("column.include.list", r"shop\.t\.(a|b)", "source.columns", ["shop.t.a", "shop.t.b"]),
        ("column.exclude.list", r".*\.password", "source.exclude_columns", ["*.*.password"]),
        ("tombstones.on.delete", "false", "kafka.tombstones", False),
        ("topic.creation.default.partitions", "6", "kafka.partitions", 6),
        ("topic.creation.default.replication.factor", "3", "kafka.replication_factor", 3),
        ("producer.override.compression.type", "zstd", "kafka.compression", "zstd"),
        ("decimal.handling.mode", "string", "envelope.decimals", "string"),
        ("time.precision.mode", "connect", "envelope.times", "connect"),
        ("binary.handling.mode", "hex", "envelope.binary", "hex"),
        ("bigint.unsigned.handling.mode", "precise", "envelope.unsigned_bigints", "precise"),
        (
            "event.converting.failure.handling.mode",
            "warn",
            "envelope.conversion_failures",
            "null",
        ),
        ("field.name.adjustment.mode", "avro", "envelope.field_names", "avro"),
        ("schema.name.adjustment.mode", "avro", "envelope.schema_names", "avro"),
        ("skipped.operations", "none", "envelope.skipped_operations", []),
        ("skipped.operations", "c,t", "envelope.skipped_operations", ["c", "t"]),
        (
            "message.key.columns",
            r"(.*)\.t:a,b;c.d:e",
            "envelope.message_keys",
            ["*.t:a,b", "c.d:e"],
        ),
        ("column.propagate.source.type", ".*", "envelope.source_types", ["*.*.*"]),
        (
            "datatype.propagate.source.type",
            r"shop\.orders\.DECIMAL.*",
            "envelope.source_types_by_type",
            ["shop.orders.DECIMAL*"],
        ),
        ("value.converter.schemas.enable", "", "envelope.value_format", "json_with_schema"),
        ("key.converter.schemas.enable", "true", "envelope.key_format", "json_with_schema"),
        ("topic.creation.default.partitions", "-1", "kafka.partitions", 3),
        ("heartbeat.interval.ms", "5000", "delivery.heartbeat_interval_seconds", 5.0),
        ("provide.transaction.metadata", True, "delivery.transaction_records", True),
    ],
)
def test_a_property_becomes_a_key(
    tmp_path: Path, name: str, value: object, key: str, found: object
) -> None:
    done = Imported(tmp_path, LEAST | {name: value})
    setting: Any = done.settings
    for part in key.split("."):
        setting = getattr(setting, part)
    assert setting == found
    assert done.warnings == ""


def test_signals_are_taken_over(tmp_path: Path) -> None:
    signals = {
        "table.include.list": "shop.orders",
        "signal.data.collection": "shop.signals",
        "signal.kafka.topic": "asked",
    }
    of_table = Imported(tmp_path, LEAST | signals)
    assert of_table.settings.signals == SignalSettings(table="shop.signals")
    # Debezium reads its rows in any case.
    assert of_table.settings.source.tables == ["shop.orders", "shop.signals"]
    assert "#   signal.kafka.topic = asked: its channel is not enabled\n" in of_table.text

    channels = {"signal.enabled.channels": "kafka, jmx", "signal.kafka.bootstrap.servers": "k3"}
    of_topic = Imported(tmp_path, LEAST | signals | channels)
    assert of_topic.settings.signals == SignalSettings(kafka_topic="asked")
    assert of_topic.settings.source.tables == ["shop.orders"]
    assert "#   signal.data.collection = shop.signals: its channel is not enabled" in of_topic.text
    assert (
        "signal.enabled.channels has no counterpart: there is no channel jmx here"
        in of_topic.warnings
    )
    assert "signals are read from kafka.bootstrap_servers" in of_topic.warnings

    default = imported(tmp_path, signal__enabled__channels="kafka,file").settings
    assert default.signals == SignalSettings(
        kafka_topic="shop-signal", file=Path("file-signals.txt")
    )
    file = {"signal.file": "/run/signals"}
    of_file = Imported(tmp_path, LEAST | file | {"signal.enabled.channels": "file"})
    assert of_file.settings.signals == SignalSettings(file=Path("/run/signals"))
    off = Imported(tmp_path, LEAST | file)
    assert "#   signal.file = /run/signals: its channel is not enabled" in off.text


def test_notifications_are_taken_over(tmp_path: Path) -> None:
    topic = {"notification.sink.topic.name": "told"}
    off = Imported(tmp_path, LEAST | topic)
    assert off.settings.notifications == NotificationSettings()
    assert "#   notification.sink.topic.name = told: its channel is not enabled" in off.text
    channels = {"notification.enabled.channels": "sink,log,jmx"}
    done = Imported(tmp_path, LEAST | topic | channels)
    assert done.settings.notifications == NotificationSettings(kafka_topic="told", log=True)
    assert "has no counterpart: there is no channel jmx here" in done.warnings


def test_masks_are_taken_over(tmp_path: Path) -> None:
    masks = {
        "column.mask.with.8.chars": "shop.u.phone",
        "column.truncate.to.20.chars": "shop.u.address",
        "column.mask.hash.v2.SHA-256.with.salt.CAFE": "shop.u.email",
        "column.mask.hash.MD5.with.salt.x.y": "shop.u.name",
    }
    done = Imported(tmp_path, LEAST | masks)
    found = [
        mask.model_dump(exclude_none=True, exclude={"salt"}) for mask in done.settings.source.masks
    ]
    assert found == [
        {"columns": ["shop.u.phone"], "chars": 8, "version": 2},
        {"columns": ["shop.u.address"], "truncate": 20, "version": 2},
        {"columns": ["shop.u.email"], "hash": "SHA-256", "version": 2},
        {"columns": ["shop.u.name"], "hash": "MD5", "version": 1},
    ]
    salts = [mask.salt.get_secret_value() for mask in done.settings.source.masks]
    assert salts == ["", "", "CAFE", "x.y"]


@pytest.mark.parametrize(
    ("databases", "tables", "found"),
    [
        ("shop", "shop.a,crm.b", ["shop.a"]),
        ("shop|crm", r".*\.a", ["shop.a", "crm.a"]),
        ("s.*", "shop.a,crm.b", ["shop.a"]),
        ("s.*", r".*\.a", ["s*.a"]),
        (".*", r"sh.*\.a", ["sh*.a"]),
    ],
)
def test_databases_and_tables_must_both_match(
    tmp_path: Path, databases: str, tables: str, found: list[str]
) -> None:
    lists = {"database.include.list": databases, "table.include.list": tables}
    assert Imported(tmp_path, LEAST | lists).settings.source.tables == found


UNWRAP = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
}


@pytest.mark.parametrize(
    ("options", "deletes"),
    [
        ({}, "tombstone"),
        ({"delete.tombstone.handling.mode": "rewrite"}, "rewrite"),
        ({"delete.handling.mode": "rewrite"}, "rewrite"),
        ({"drop.tombstones": "false", "delete.handling.mode": "rewrite"}, "rewrite-with-tombstone"),
    ],
)
def test_rows_without_an_envelope(tmp_path: Path, options: dict[str, str], deletes: str) -> None:
    own = {f"transforms.unwrap.{name}": value for name, value in options.items()}
    fields = {"transforms.unwrap.add.fields": "op, source.ts_ms"}
    envelope = Imported(tmp_path, LEAST | UNWRAP | own | fields).settings.envelope
    assert (envelope.shape, envelope.flat_deletes) == ("flat", deletes)
    assert envelope.flat_fields == ["op", "source.ts_ms"]


def test_passwords_are_not_copied(tmp_path: Path) -> None:
    login = {
        "database.password": "s3cret",
        "schema.history.internal.producer.security.protocol": "SASL_SSL",
        "schema.history.internal.producer.sasl.mechanism": "SCRAM-SHA-512",
        "schema.history.internal.producer.sasl.jaas.config": (
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="cdc" '
            'password="k3y";'
        ),
        "database.ssl.truststore.password": "tr5st",
    }
    done = Imported(tmp_path, LEAST | login)
    assert not any(secret in done.text for secret in ("s3cret", "k3y", "tr5st"))
    assert "# give it by: export BINLOG_CONNECTOR_SOURCE__PASSWORD=...\n" in done.text
    kafka = done.settings.kafka
    assert (kafka.security_protocol, kafka.sasl_mechanism) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (kafka.sasl_username, str(kafka.sasl_password_file)) == ("cdc", "/run/secrets/kafka")

    asked = Imported(tmp_path, LEAST | login, "--secrets").settings
    assert asked.source.password.get_secret_value() == "s3cret"
    assert asked.kafka.sasl_password is not None
    assert asked.kafka.sasl_password.get_secret_value() == "k3y"


def jaas_login(options: str) -> dict[str, str]:
    """Return the properties of a login by SASL."""
    client = "schema.history.internal.producer."
    return {
        f"{client}security.protocol": "SASL_SSL",
        f"{client}sasl.mechanism": "PLAIN",
        f"{client}sasl.jaas.config": f"org.example.PlainLoginModule required {options};",
    }


@pytest.mark.parametrize(
    ("options", "user", "password"),
    [
        ('username="cdc of shop" password="it\'s; 1"', "cdc of shop", "it's; 1"),
        ("""username='cdc' password='a "b" c'""", "cdc", 'a "b" c'),
        (r'username = "cdc" password = "a\"b\\c"', "cdc", r'a"b\c'),
        ("username=cdc password=k3y", "cdc", "k3y"),
    ],
)
def test_a_login_is_copied_as_it_is(tmp_path: Path, options: str, user: str, password: str) -> None:
    kafka = Imported(tmp_path, LEAST | jaas_login(options), "--secrets").settings.kafka
    assert kafka.sasl_password is not None
    assert (kafka.sasl_username, kafka.sasl_password.get_secret_value()) == (user, password)


def test_a_reference_is_no_password_of_kafka(tmp_path: Path) -> None:
    reference = "${file:/s.properties:p}"
    login = jaas_login(f'username="cdc" password="{reference}"')
    done = Imported(tmp_path, LEAST | login, "--secrets")
    kafka = done.settings.kafka
    assert (kafka.sasl_username, str(kafka.sasl_password_file)) == ("cdc", "/run/secrets/kafka")
    assert f"sasl.jaas.config: password = {reference}\n" in done.text


REGISTRY_LOGIN = "value.converter.basic.auth.user.info"


@pytest.mark.parametrize(
    "login",
    [
        jaas_login('username="${file:/s:u}" password="k3y"'),
        {**jaas_login(""), "schema.history.internal.producer.sasl.jaas.config": "${file:/s:u}"},
        {"value.converter": AVRO, REGISTRY_LOGIN: "${file:/s:u}"},
        {"value.converter": AVRO, REGISTRY_LOGIN: "${file:/s:u}:k3y"},
    ],
)
def test_a_user_that_only_connect_can_look_up_is_refused(
    tmp_path: Path, login: dict[str, str]
) -> None:
    done = Imported(tmp_path, LEAST | REGISTRY | login, "--secrets")
    name = list(login)[-1]
    text = shown(migration_errors.REFERENCE, path=done.source, name=name, value="${file:/s:u}")
    assert (done.code, done.warnings) == (2, f"error: {text}\n")


def test_the_password_of_a_registry_may_be_a_reference(tmp_path: Path) -> None:
    login = {"value.converter": AVRO, REGISTRY_LOGIN: "cdc:${file:/s:p}"}
    assert Imported(tmp_path, LEAST | REGISTRY | login).settings.registry.username == "cdc"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("${dir:/run/secrets:mysql}", 'password_file = "/run/secrets/mysql"\n'),
        ("${env:DB_PASSWORD}", 'BINLOG_CONNECTOR_SOURCE__PASSWORD="$DB_PASSWORD"\n'),
        (
            "${file:/opt/db.properties:password}",
            "# write it alone into a file, and name the file: password_file,\n",
        ),
    ],
)
def test_configuration_providers_are_recognised(tmp_path: Path, reference: str, said: str) -> None:
    done = imported(tmp_path, database__password=reference)
    assert f"# database.password = {reference}\n" in done.text
    assert said in done.text


@pytest.mark.parametrize("value", ["9" * 5000, "1" * 400, "\u0663", "-1"], ids=len)
def test_a_number_that_connect_does_not_take_is_refused(tmp_path: Path, value: str) -> None:
    done = imported(tmp_path, heartbeat__interval__ms=value)
    assert done.code == 2
    assert done.warnings.startswith("error: [C807] ")


def test_what_has_no_counterpart_is_a_warning(tmp_path: Path) -> None:
    others = {
        "include.query": "true",
        "tables.include": "a",
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": ".*",
        "key.converter": "io.confluent.connect.protobuf.ProtobufConverter",
    }
    done = Imported(tmp_path, LEAST | others)
    assert done.settings.envelope.key_format == "json"
    meaning = "records have no query"
    text = shown(migration_errors.NO_COUNTERPART, name="include.query", meaning=meaning)
    assert f"warning: {text}\n" in done.warnings
    text = shown(migration_errors.UNKNOWN_PROPERTY, name="tables.include")
    assert f"warning: {text}\n" in done.warnings
    assert "transforms.route.type has no counterpart: each table has the topic" in done.warnings
    assert "key.converter has no counterpart: records are JSON without schemas" in done.warnings
    assert done.warnings.count("warning:") == 4
    assert "#   tables.include = a: it was left out\n" in done.text


def test_the_statement_of_heartbeats_needs_their_interval(tmp_path: Path) -> None:
    query = {"heartbeat.action.query": "UPDATE cdc.beat SET at = NOW()"}
    done = Imported(tmp_path, LEAST | query | {"heartbeat.interval.ms": "5000"})
    assert done.settings.source.heartbeat_statement == "UPDATE cdc.beat SET at = NOW()"
    assert done.warnings == ""
    without = Imported(tmp_path, LEAST | query)
    assert without.settings.source.heartbeat_statement == ""
    assert without.warnings == ""
    assert "NOW(): without heartbeat.interval.ms it is never executed\n" in without.text


EVENT = {
    "transforms": "event",
    "transforms.event.type": "io.debezium.transforms.outbox.EventRouter",
}


def test_an_event_router_becomes_an_outbox(tmp_path: Path) -> None:
    options = {
        "table.include.list": "shop.outbox",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "transforms.event.table.field.event.id": "event_id",
        "transforms.event.route.topic.replacement": "events.${routedByValue}",
        "transforms.event.table.fields.additional.placement": "type:header:eventType,at:header",
        "transforms.event.table.op.invalid.behavior": "fatal",
        "transforms.event.table.json.payload.null.behavior": "ignore",
    }
    done = Imported(tmp_path, LEAST | EVENT | options)
    assert done.warnings == ""
    outbox = done.settings.envelope.outbox
    assert (outbox.tables, outbox.id, outbox.key) == (["shop.outbox"], "event_id", "aggregateid")
    assert (outbox.topic_name, outbox.on_update) == ("events.{value}", "stop")
    assert outbox.headers == ["type:eventType", "at"]
    assert (outbox.key_format, outbox.value_format) == ("json", "plain")
    assert not outbox.expand_payload


def test_a_payload_that_is_expanded_stays_so(tmp_path: Path) -> None:
    expand = {"transforms.event.table.expand.json.payload": "true"}
    schemas = {"value.converter.schemas.enable": "true"}
    outbox = Imported(tmp_path, LEAST | EVENT | expand | schemas).settings.envelope.outbox
    assert (outbox.expand_payload, outbox.value_format) == (True, "json_with_schema")


def test_the_predicate_of_an_event_router_names_its_tables(tmp_path: Path) -> None:
    predicate = {
        "transforms.event.predicate": "isOutbox",
        "predicates": "isOutbox",
        "predicates.isOutbox.type": "org.apache.kafka.connect.transforms.predicates"
        ".TopicNameMatches",
    }
    named = {"predicates.isOutbox.pattern": r"shop\.erp\.outbox"}
    done = Imported(tmp_path, LEAST | EVENT | predicate | named)
    assert done.settings.envelope.outbox.tables == ["erp.outbox"]
    assert done.warnings == ""
    for pattern in ("other.erp.outbox", "(?i)shop.erp.outbox"):
        odd = {"predicates.isOutbox.pattern": pattern}
        done = Imported(tmp_path, LEAST | EVENT | predicate | odd)
        assert done.settings.envelope.outbox.tables == []
        assert "the tables of its predicate cannot be told" in done.warnings


def test_parts_of_events_that_are_not_there(tmp_path: Path) -> None:
    odd = {
        "transforms.event.table.fields.additional.placement": "type:envelope",
        "transforms.event.table.field.event.timestamp": "at",
    }
    done = Imported(tmp_path, LEAST | EVENT | odd)
    assert "type:envelope: events have only headers" in done.warnings
    assert "timestamp has no counterpart: events have the parts that are named above" in (
        done.warnings
    )


def test_avro_takes_its_registry_along(tmp_path: Path) -> None:
    options = {
        "key.converter": "io.confluent.connect.avro.AvroConverter",
        "key.converter.schema.registry.url": "http://a:8081,http://b:8081/",
        "value.converter": "io.confluent.connect.json.JsonSchemaConverter",
        "value.converter.schema.registry.url": "http://a:8081,http://b:8081",
        "value.converter.basic.auth.credentials.source": "USER_INFO",
        "value.converter.basic.auth.user.info": "cdc:hidden",
        "value.converter.auto.register.schemas": "false",
        "value.converter.value.subject.name.strategy": (
            "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
        ),
    }
    done = Imported(tmp_path, LEAST | options)
    envelope, registry = done.settings.envelope, done.settings.registry
    assert (envelope.key_format, envelope.value_format) == ("avro", "json_schema")
    assert registry.urls == ["http://a:8081", "http://b:8081"]
    assert (registry.username, registry.auto_register) == ("cdc", False)
    assert registry.subject_strategy == "topic_record"
    assert "hidden" not in done.text
    assert done.warnings == ""
    # Keys and values have one registry.
    other = options | {"value.converter.schema.registry.url": "http://c:8081"}
    done = Imported(tmp_path, LEAST | other)
    assert done.settings.registry.urls == ["http://a:8081", "http://b:8081"]
    assert "value.converter.schema.registry.url has no counterpart" in done.warnings


def test_cloud_events_have_no_schema(tmp_path: Path) -> None:
    options = {"value.converter": "io.debezium.converters.CloudEventsConverter"}
    done = Imported(tmp_path, LEAST | options)
    assert done.settings.envelope.value_format == "cloudevents"
    assert "value.converter.json.schemas.enable has no counterpart" in done.warnings
    options["value.converter.json.schemas.enable"] = "false"
    assert Imported(tmp_path, LEAST | options).warnings == ""


@pytest.mark.parametrize(
    ("confluent", "warned"),
    [({}, True), ({"headers.enabled": "false", "as-confluent": "true"}, False)],
)
def test_the_ids_of_apicurio_must_be_those_of_confluent(
    tmp_path: Path, confluent: dict[str, str], warned: bool
) -> None:
    names = {"url": "http://a:8080/apis/registry/v2", "auto-register": "true", **confluent}
    options = {
        f"{side}.converter.apicurio.registry.{name}": value
        for side in ("key", "value")
        for name, value in names.items()
    }
    kind = "io.apicurio.registry.utils.converter.AvroConverter"
    done = Imported(tmp_path, LEAST | options | {"key.converter": kind, "value.converter": kind})
    assert done.settings.registry.urls == ["http://a:8080/apis/ccompat/v7"]
    assert done.settings.registry.auto_register
    assert ("in four bytes before the record" in done.warnings) is warned


# The connector has converters, brokers and login from its worker.
BARE = {
    name: value
    for name, value in LEAST.items()
    if not name.startswith(("key.", "value.", "schema.history."))
}
WORKER = f"""\
# connect-distributed.properties
bootstrap.servers=k1:9093,k2:9093
group.id=connect-cluster
key.converter={JSON}
key.converter.schemas.enable=false
value.converter={JSON}
producer.security.protocol=SASL_SSL
producer.sasl.mechanism=SCRAM-SHA-512
producer.sasl.jaas.config=org.example.ScramLoginModule required \\
  username="connect" password="hunter2";
producer.ssl.truststore.location=/etc/kafka/trust.jks
producer.compression.type=zstd
producer.linger.ms=20
"""


def test_a_converter_of_the_worker_is_not_guessed(tmp_path: Path) -> None:
    names = {name: value for name, value in LEAST.items() if not name.startswith("value.")}
    done = Imported(tmp_path, names)
    text = shown(
        migration_errors.NO_PROPERTY,
        path=done.source,
        name="value.converter",
        advice="the worker has it: give its file by --worker, or add value.converter to the JSON "
        "file",
    )
    assert (done.code, done.warnings) == (2, f"error: {text}\n")
    assert not done.config.exists()


def test_the_worker_has_what_the_connector_does_not_name(tmp_path: Path) -> None:
    worker = tmp_path / "connect-distributed.properties"
    worker.write_text(WORKER)
    done = Imported(tmp_path, {"name": "shop-connector", "config": BARE}, "--worker", str(worker))
    kafka = (found := done.settings).kafka
    assert (found.envelope.key_format, found.envelope.value_format) == ("json", "json_with_schema")
    assert kafka.bootstrap_servers == ["k1:9093", "k2:9093"]
    assert (kafka.security_protocol, kafka.sasl_mechanism) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (kafka.sasl_username, kafka.compression) == ("connect", "zstd")
    assert "hunter2" not in done.text
    name = "producer.override.ssl.truststore.location"
    meaning = "kafka.ssl_ca, ssl_certificate and ssl_key take PEM files"
    text = shown(migration_errors.NO_COUNTERPART, name=name, meaning=meaning)
    assert done.warnings == f"warning: {text}\n"


def test_what_the_connector_names_counts_more_than_its_worker(tmp_path: Path) -> None:
    worker = tmp_path / "worker.properties"
    worker.write_text(WORKER)
    own = {
        "value.converter": "io.debezium.converters.CloudEventsConverter",
        "value.converter.json.schemas.enable": "false",
        "producer.override.compression.type": "lz4",
        "schema.history.internal.kafka.bootstrap.servers": "history:9092",
    }
    found = Imported(tmp_path, BARE | own, "--worker", str(worker)).settings
    assert (found.envelope.value_format, found.kafka.compression) == ("cloudevents", "lz4")
    # The history of schemas may be in another cluster than the records.
    assert found.kafka.bootstrap_servers == ["k1:9093", "k2:9093"]


def test_a_worker_without_a_login_needs_none(tmp_path: Path) -> None:
    worker = tmp_path / "worker.properties"
    worker.write_text("bootstrap.servers = k1:9092\n")
    assert "if the brokers need a login" in Imported(tmp_path, LEAST).text
    with_worker = Imported(tmp_path, LEAST, "--worker", str(worker))
    assert "if the brokers need a login" not in with_worker.text
    assert with_worker.settings.kafka.security_protocol == "PLAINTEXT"


def test_a_worker_without_a_file(tmp_path: Path) -> None:
    path = tmp_path / "absent.properties"
    text = shown(migration_errors.UNREADABLE, path=path, said="No such file or directory")
    done = Imported(tmp_path, LEAST, "--worker", str(path))
    assert (done.code, done.warnings) == (2, f"error: {text}\n")
    path.write_bytes(b"name=caf\xe9")
    text = shown(migration_errors.UNREADABLE, path=path, said="unexpected end of data")
    done = Imported(tmp_path, LEAST, "--worker", str(path))
    assert (done.code, done.warnings) == (2, f"error: {text}\n")


REFUSED = [
    ({"key.converter": "io.confluent.connect.avro.AvroConverter"}, "C804"),
    ({"connector.class": "io.debezium.connector.postgresql.PostgresConnector"}, "C803"),
    ({"topic.prefix": None}, "C804"),
    ({"database.hostname": None}, "C804"),
    ({"schema.history.internal.kafka.bootstrap.servers": None}, "C804"),
    ({"table.include.list": r"shop\.(?!tmp).*"}, "C805"),
    ({"database.include.list": "s.*", "table.include.list": r".*p\.a"}, "C805"),
    ({"database.include.list": "s", "table.include.list": "x.a"}, "C805"),
    ({"column.exclude.list": r"shop\.t\.[a-z]+"}, "C805"),
    ({"message.key.columns": "shop.t"}, "C805"),
    ({"database.hostname": "${file:/opt/db.properties:host}"}, "C806"),
    ({"time.precision.mode": "structured"}, "C807"),
    ({"topic.delimiter": "_"}, "C807"),
    ({"snapshot.mode": "custom"}, "C807"),
    ({"snapshot.mode": "recovery"}, "C807"),
    ({"database.port": "x"}, "C807"),
    ({"tombstones.on.delete": "1"}, "C807"),
    ({**UNWRAP, "transforms.unwrap.add.fields": "op,source.x"}, "C807"),
    ({**UNWRAP, "transforms.unwrap.delete.handling.mode": "none"}, "C807"),
    ({"topic.prefix": "my.shop"}, "C193"),
]


@pytest.mark.parametrize(("changed", "number"), REFUSED)
def test_what_would_be_otherwise_is_an_error(
    tmp_path: Path, changed: dict[str, str], number: str
) -> None:
    done = Imported(tmp_path, LEAST | changed)
    assert done.code == 2
    assert f"error: [{number}] {done.source}: " in done.warnings or number == "C193"
    assert f"[{number}]" in done.warnings
    assert not done.config.exists()


def test_an_expression_that_has_no_patterns_is_named(tmp_path: Path) -> None:
    done = imported(tmp_path, table__include__list=r"shop\.a,shop\.(?!tmp_).*")
    text = shown(
        migration_errors.PATTERN,
        path=done.source,
        name="table.include.list",
        pattern=r"shop\.(?!tmp_).*",
        why="(?!",
    )
    assert done.warnings == f"error: {text}\n"


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("[]", "it is not an object"),
        ({"config": LEAST, "name": "a", "transforms": []}, None),
        (LEAST | {"transforms": ["a"]}, "transforms is not a single value"),
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_what_is_no_connector(tmp_path: Path, document: object, why: str | None) -> None:
    done = Imported(tmp_path, document)
    if why is None:
        assert done.code == 0
        return
    text = shown(migration_errors.NOT_A_CONNECTOR, path=done.source, why=why)
    assert (done.code, done.warnings) == (2, f"error: {text}\n")


HOSTILE = (
    '"\n[metrics]\nlisten = "0.0.0.0:9400"\n[signals]\nfile = "/tmp/x"\r\x0b\x7f\x85\u2028 # \'"""'
)


@pytest.mark.parametrize("value", [HOSTILE, "\n" + HOSTILE, "${file:/x:" + HOSTILE + "}"])
@pytest.mark.parametrize(
    "name",
    [
        "database.hostname",
        "database.user",
        "database.password",
        "topic.prefix",
        "name",
        "an.unknown.property",
        "snapshot.select.statement.overrides",
        "heartbeat.action.query",
        "column.mask.hash.SHA-256.with.salt." + HOSTILE,
        "driver." + HOSTILE,
        HOSTILE,
    ],
)
def test_what_a_property_says_opens_no_section(tmp_path: Path, name: str, value: str) -> None:
    done = Imported(tmp_path, {"name": HOSTILE, "config": LEAST | {name: value}})
    assert "Traceback" not in done.warnings
    if done.code:
        assert done.code == 2, done.warnings
        return
    document = tomllib.loads(done.text)
    assert document.get("metrics", {}).get("listen") is None
    assert "file" not in document.get("signals", {})


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    text = json.dumps({"name": "a", "config": LEAST | {"database.user": "\ud800"}})
    done = Imported(tmp_path, text)
    said = shown(migration_errors.NOT_A_CONNECTOR, path=done.source, why="half a character")
    assert (done.code, done.warnings) == (2, f"error: {said}\n")


def test_a_file_that_is_nested_deeply_is_no_connector(tmp_path: Path) -> None:
    done = Imported(tmp_path, "[" * 100_000)
    said = shown(migration_errors.NOT_A_CONNECTOR, path=done.source, why="it is nested too deeply")
    assert (done.code, done.warnings) == (2, f"error: {said}\n")


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "absent.json"
    done = invoke(["import-debezium", str(path)])
    text = shown(migration_errors.UNREADABLE, path=path, said="No such file or directory")
    assert (done.exit_code, done.stderr) == (2, f"error: {text}\n")


def test_a_value_that_a_pipeline_does_not_take_is_not_written(tmp_path: Path) -> None:
    done = imported(tmp_path, database__server__id="0")
    assert done.code == 2
    assert f"[{settings_errors.WRONG_VALUE.code}] {done.config}: source.server_id" in done.warnings
    assert not done.config.exists()


def test_a_file_that_all_may_read_becomes_a_file_of_one_user(tmp_path: Path) -> None:
    config = tmp_path / "my.toml"
    config.write_text("what was there before")
    config.chmod(0o644)
    done = Imported(tmp_path, LEAST | {"database.password": "p"}, "--secrets")
    assert (done.code, done.settings.source.read_password()) == (0, "p")
    assert stat.S_IMODE(config.stat().st_mode) == 0o600


def test_an_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    done = Imported(tmp_path, LEAST, config=".")
    said = shown(command_errors.OUTPUT, path=tmp_path, why="Is a directory")
    assert (done.code, done.warnings) == (2, f"error: {said}\n")
