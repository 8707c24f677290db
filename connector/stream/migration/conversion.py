"""Converts the properties of a connector to the keys of a configuration.

Here are the keys of `[source]`, `[kafka]`, `[signals]` and `[notifications]`; `envelope_keys` and
`patterns` have the properties of records and of tables.
"""

import re
from fnmatch import fnmatchcase
from typing import Final

from connector.binlog.table_filter import TableFilter
from connector.stream.migration.draft import Draft
from connector.stream.migration.envelope_keys import convert_records
from connector.stream.migration.kafka_connect import REFERENCE, ConnectorFile
from connector.stream.migration.patterns import convert_choices, split_list
from connector.stream.migration.property_notes import NO_COUNTERPART, NOT_NEEDED

_MS: Final = 1000
# Debezium takes a random one of this range; here it must stay the same.
_SERVER_ID: Final = 5800
# Connector/J's permission to take the RSA key that a server without TLS sends.
_KEY_OF_SERVER: Final = "driver.allowPublicKeyRetrieval"
_VARIABLE: Final = "BINLOG_CONNECTOR_SOURCE__PASSWORD"
_SSL: Final = {
    "disabled": "disabled",
    "disable": "disabled",
    "preferred": "preferred",
    "required": "required",
    "trust": "required",
    "verify_ca": "verify_ca",
    "verify-ca": "verify_ca",
    "verify_identity": "verify_identity",
    "verify-full": "verify_identity",
}


def convert_source(draft: Draft, *, secrets: bool) -> None:
    """Convert host, account and TLS; raises ConfigError if the host is missing."""
    host = draft.require("database.hostname", draft.pop("database.hostname"), "add it to the file")
    draft.take("database.hostname", "source.host", host)
    draft.number("database.port", "source.port")
    user = draft.pop("database.user")
    if user is not None:
        draft.take("database.user", "source.user", user)
    _convert_password(draft, secrets=secrets)
    if "database.server.id" not in draft.left:
        draft.set("source.server_id", _SERVER_ID, "Debezium takes a random number")
    draft.number("database.server.id", "source.server_id")
    draft.number("connect.timeout.ms", "source.connect_timeout_seconds", _MS)
    default = "disable" if draft.connector.is_mariadb else "preferred"
    mode = draft.pop("database.ssl.mode") or default
    tls_mode = draft.one_of("database.ssl.mode", mode, _SSL)
    draft.take("database.ssl.mode", "source.tls.mode", tls_mode, mode)
    if draft.left.get(_KEY_OF_SERVER, "").lower() == "true":
        draft.flag(_KEY_OF_SERVER, "source.tls.get_server_public_key")


def _convert_password(draft: Draft, *, secrets: bool) -> None:
    """Copy the password if `secrets` are wanted; else say where to put it, without showing it."""
    name, key = "database.password", "source.password"
    value = draft.left.pop(name, None)
    if value is None:
        return
    reference = REFERENCE.fullmatch(value)
    if reference is not None and reference[1] in ("dir", "directory"):
        draft.set(f"{key}_file", f"{reference[2]}/{reference[3]}", f"{name} = {value}")
    elif reference is not None and reference[1] == "env":
        draft.note(key, f"{name} = {value}", f'give it by: export {_VARIABLE}="${reference[3]}"')
    elif reference is not None:
        draft.note(
            key,
            f"{name} = {value}",
            "write it alone into a file, and name the file: password_file,",
            f"or give it by: export {_VARIABLE}=...",
        )
    elif secrets:
        draft.set(key, value, f"{name} = (below)")
    else:
        draft.note(
            key,
            f"{name} = (not shown)",
            f"give it by: export {_VARIABLE}=...",
            "or write it into a file, and name the file: password_file",
        )


_HISTORY: Final = "schema.history.internal.kafka.bootstrap.servers"
_WORKER: Final = "bootstrap.servers"
_CLIENTS: Final = (
    "schema.history.internal.producer.",
    "schema.history.internal.consumer.",
    "database.history.producer.",
    "database.history.consumer.",
    "producer.override.",
)
_NAMING: Final = (
    "io.debezium.schema.SchemaTopicNamingStrategy",
    "io.debezium.schema.DefaultTopicNamingStrategy",
)
_COMPRESSION: Final = {codec: codec for codec in ("lz4", "zstd", "gzip", "none")}


def convert_kafka(draft: Draft, bootstrap_servers: str, *, secrets: bool) -> None:
    """Convert the brokers, the login and the topics; raises ConfigError without brokers."""
    known = {
        "--bootstrap-servers": bootstrap_servers,
        _WORKER: draft.pop(_WORKER),
        _HISTORY: draft.pop(_HISTORY, "database.history.kafka.bootstrap.servers"),
    }
    origin = next((name for name, value in known.items() if value), _HISTORY)
    servers = draft.require(_HISTORY, known[origin], "give --worker or --bootstrap-servers")
    listed = [server.strip() for server in servers.split(",")]
    draft.take(origin, "kafka.bootstrap_servers", listed, servers)
    prefix = draft.pop("topic.prefix", "database.server.name")
    draft.take("topic.prefix", "kafka.topic_prefix", prefix)
    _convert_topics(draft)
    draft.flag("tombstones.on.delete", "kafka.tombstones")
    draft.mapped("producer.override.compression.type", "kafka.compression", _COMPRESSION)
    _convert_login(draft, secrets=secrets)


def _convert_topics(draft: Draft) -> None:
    naming = "topic.naming.strategy"
    strategy = draft.pop(naming)
    if strategy is not None:
        draft.one_of(naming, strategy, {name.lower(): name for name in _NAMING})
        draft.not_needed(naming, "topics have these names")
    delimiter = draft.pop("topic.delimiter")
    if delimiter is not None:
        draft.one_of("topic.delimiter", delimiter, {".": "."})
        draft.not_needed("topic.delimiter", "topics have this delimiter")
    for name, key in (
        ("topic.creation.default.partitions", "kafka.partitions"),
        ("topic.creation.default.replication.factor", "kafka.replication_factor"),
    ):
        if draft.left.get(name) == "-1":
            draft.not_needed(name, "it is the default of the brokers")
        draft.number(name, key)


def _convert_login(draft: Draft, *, secrets: bool) -> None:
    """Take over how a client of the connector, or a producer of its worker, logs in."""
    client = next(
        (prefix for prefix in _CLIENTS if f"{prefix}security.protocol" in draft.left), _CLIENTS[0]
    )
    protocol = draft.pop(f"{client}security.protocol")
    if protocol is None and _WORKER in draft.connector.properties:
        return
    if protocol is None:
        draft.note(
            "kafka.security_protocol",
            "the worker of Connect knows how it logs in; if the brokers need a login or TLS, set",
            "security_protocol and what belongs to it",
        )
        return
    draft.take(f"{client}security.protocol", "kafka.security_protocol", protocol.upper(), protocol)
    for name in [name for name in draft.left if name.startswith(f"{client}ssl.")]:
        draft.no_counterpart(name, "kafka.ssl_ca, ssl_certificate and ssl_key take PEM files")
    if not protocol.upper().startswith("SASL"):
        return
    mechanism = draft.pop(f"{client}sasl.mechanism")
    if mechanism is not None:
        draft.take(f"{client}sasl.mechanism", "kafka.sasl_mechanism", mechanism)
    login = draft.left.pop(f"{client}sasl.jaas.config", "")
    name = f"{client}sasl.jaas.config"
    if REFERENCE.fullmatch(login.strip()):
        draft.refuse_reference(name, login.strip())
    if user := _jaas_option(login, "username"):
        draft.refuse_reference(name, user)
        draft.set("kafka.sasl_username", user, f"{name}: username = {user}")
    password = _jaas_option(login, "password")
    if secrets and password and not REFERENCE.search(password):
        draft.set("kafka.sasl_password", password, f"{name}: password = (below)")
    else:
        shown = password if REFERENCE.fullmatch(password) else "(not shown)"
        draft.set(
            "kafka.sasl_password_file",
            "/run/secrets/kafka",
            f"{name}: password = {shown}",
            "write it alone into this file, or name another file",
        )


def _jaas_option(login: str, name: str) -> str:
    """Return an option of a login module, "" without it; in quotes, it may have any character.

    https://docs.oracle.com/en/java/javase/21/docs/api/java.base/javax/security/auth/login/Configuration.html
    """
    option = re.search(
        rf"""\b{name}\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^"';\s]+))""", login
    )
    if option is None:
        return ""
    quoted = option[1] if option[2] is None else option[2]
    return option[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


_SIGNALS: Final = "signal.enabled.channels"
_SIGNAL_TABLE: Final = "signal.data.collection"
_SIGNAL_TOPIC: Final = "signal.kafka.topic"
_SIGNAL_SERVERS: Final = "signal.kafka.bootstrap.servers"
_SIGNAL_FILE: Final = "signal.file"
_NOTIFICATIONS: Final = "notification.enabled.channels"
_NOTIFICATION_TOPIC: Final = "notification.sink.topic.name"
_OFF: Final = "its channel is not enabled"


def convert_signals(draft: Draft) -> None:
    """Convert the channels; raises ConfigError for a reference that only Connect can look up."""
    channels = _channels(draft, _SIGNALS, "source")
    table = draft.pop(_SIGNAL_TABLE)
    if table is not None and "source" in channels:
        draft.take(_SIGNAL_TABLE, "signals.table", table)
        _follow(draft, table)
    elif table is not None:
        draft.not_needed(_SIGNAL_TABLE, _OFF)
    topic = draft.pop(_SIGNAL_TOPIC)
    if "kafka" in channels:
        prefix = draft.value("kafka.topic_prefix")
        draft.take(_SIGNAL_TOPIC, "signals.kafka_topic", topic or f"{prefix}-signal")
        servers = draft.left.get(_SIGNAL_SERVERS)
        if servers is not None and split_list(servers) != draft.value("kafka.bootstrap_servers"):
            draft.no_counterpart(_SIGNAL_SERVERS, "signals are read from kafka.bootstrap_servers")
    elif topic is not None:
        draft.not_needed(_SIGNAL_TOPIC, _OFF)
    file = draft.pop(_SIGNAL_FILE)
    if "file" in channels:
        draft.take(_SIGNAL_FILE, "signals.file", file or "file-signals.txt")
    elif file is not None:
        draft.not_needed(_SIGNAL_FILE, _OFF)
    for channel in channels:
        if channel not in ("source", "kafka", "file"):
            draft.no_counterpart(_SIGNALS, f"there is no channel {channel} here")


def convert_notifications(draft: Draft) -> None:
    """Convert the channels; raises as `convert_signals`."""
    channels = _channels(draft, _NOTIFICATIONS, "")
    topic = draft.pop(_NOTIFICATION_TOPIC)
    if topic is not None and "sink" in channels:
        draft.take(_NOTIFICATION_TOPIC, "notifications.kafka_topic", topic)
    elif topic is not None:
        draft.not_needed(_NOTIFICATION_TOPIC, _OFF)
    if "log" in channels:
        draft.set("notifications.log", True, f"{_NOTIFICATIONS} has log")
    for channel in channels:
        if channel not in ("sink", "log"):
            draft.no_counterpart(_NOTIFICATIONS, f"there is no channel {channel} here")


def _channels(draft: Draft, name: str, default: str) -> list[str]:
    return split_list(draft.pop(name) or default)


def _follow(draft: Draft, table: str) -> None:
    """Follow the table of signals, which Debezium reads whatever the lists of tables say."""
    patterns = draft.value("source.tables")
    assert isinstance(patterns, list)
    database, _, name = table.partition(".")
    if not TableFilter(patterns).follows(database, name):
        note = f"{_SIGNAL_TABLE} = {table} is followed, too"
        draft.set("source.tables", [*patterns, table], note)


# What a pipeline without offsets does.
_STARTS: Final = {
    "initial": "snapshot",
    "always": "snapshot",
    "when_needed": "snapshot",
    "no_data": "latest",
    "schema_only": "latest",
    "never": "earliest",
}


def convert(
    connector: ConnectorFile, *, bootstrap_servers: str, secrets: bool, start: str
) -> Draft:
    """Return the configuration of a pipeline that does what the connector does.

    `bootstrap_servers` replaces what the connector says; "" does not. With `secrets`, passwords are
    copied. `start` is the position of the connector, "" without offsets. Raises ConfigError for
    what would follow other tables or write other records.
    """
    draft = Draft(connector)
    draft.set("name", connector.name, f"name = {connector.name}")
    convert_source(draft, secrets=secrets)
    _convert_start(draft, start)
    convert_choices(draft)
    convert_kafka(draft, bootstrap_servers, secrets=secrets)
    convert_records(draft)
    _convert_delivery(draft)
    convert_signals(draft)
    convert_notifications(draft)
    for name in list(draft.left):
        _convert_rest(draft, name)
    return draft


def _convert_start(draft: Draft, start: str) -> None:
    mode = draft.pop("snapshot.mode")
    if start:
        draft.set("source.start", start, "from the offsets of the connector, once")
        if mode is not None:
            draft.not_needed("snapshot.mode", "the stream goes on after the offsets")
        return
    name = "snapshot.mode"
    text = mode or "initial"
    draft.take(name, "source.start", draft.one_of(name, text, _STARTS), text)
    draft.number("snapshot.max.threads", "snapshot.connections")


def _convert_delivery(draft: Draft) -> None:
    draft.flag("provide.transaction.metadata", "delivery.transaction_records")
    draft.number("heartbeat.interval.ms", "delivery.heartbeat_interval_seconds", _MS)
    name = "heartbeat.action.query"
    statement = draft.pop(name)
    if statement is None:
        return
    if draft.value("delivery.heartbeat_interval_seconds"):
        draft.take(name, "source.heartbeat_statement", statement)
    else:
        draft.not_needed(name, "without heartbeat.interval.ms it is never executed")


def _convert_rest(draft: Draft, name: str) -> None:
    for known, say in ((NOT_NEEDED, draft.not_needed), (NO_COUNTERPART, draft.no_counterpart)):
        for pattern, text in known.items():
            if fnmatchcase(name, pattern):
                say(name, text)
                return
    draft.unknown(name)
