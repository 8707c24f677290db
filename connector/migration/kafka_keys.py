"""Properties of topics and of the connection to Kafka become keys of `[kafka]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from connector.migration.draft import Draft

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
_COMPRESSION: Final = {each: each for each in ("lz4", "zstd", "gzip", "none")}


def convert_kafka(draft: Draft, bootstrap_servers: str, *, secrets: bool) -> None:
    """Convert the brokers, the login and the topics; raises ConfigError without brokers."""
    known = {
        "--bootstrap-servers": bootstrap_servers,
        _WORKER: draft.pop(_WORKER),
        _HISTORY: draft.pop(_HISTORY, "database.history.kafka.bootstrap.servers"),
    }
    said = next((name for name, value in known.items() if value), _HISTORY)
    servers = draft.require(_HISTORY, known[said], "give --worker or --bootstrap-servers")
    listed = [server.strip() for server in servers.split(",")]
    draft.take(said, "kafka.bootstrap_servers", listed, servers)
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
        (each for each in _CLIENTS if f"{each}security.protocol" in draft.left), _CLIENTS[0]
    )
    protocol = draft.pop(f"{client}security.protocol")
    if protocol is None and _WORKER in draft.connector.properties:
        return
    if protocol is None:
        draft.say(
            "kafka.security_protocol",
            "the worker of Connect knows how it logs in; if the brokers need a login or TLS, set",
            "security_protocol and what belongs to it",
        )
        return
    draft.take(f"{client}security.protocol", "kafka.security_protocol", protocol.upper(), protocol)
    for name in [each for each in draft.left if each.startswith(f"{client}ssl.")]:
        draft.no_counterpart(name, "kafka.ssl_ca, ssl_certificate and ssl_key take PEM files")
    if not protocol.upper().startswith("SASL"):
        return
    mechanism = draft.pop(f"{client}sasl.mechanism")
    if mechanism is not None:
        draft.take(f"{client}sasl.mechanism", "kafka.sasl_mechanism", mechanism)
    login = draft.left.pop(f"{client}sasl.jaas.config", "")
    name = f"{client}sasl.jaas.config"
    if user := re.search(r"""username=["']?([^"';\s]+)""", login):
        draft.set("kafka.sasl_username", user[1], f"{name}: username = {user[1]}")
    password = re.search(r"""password=["']?([^"';\s]+)""", login)
    if secrets and password:
        draft.set("kafka.sasl_password", password[1], f"{name}: password = (below)")
    else:
        draft.set(
            "kafka.sasl_password_file",
            "/run/secrets/kafka",
            f"{name}: password = (not shown)",
            "write it alone into this file, or name another file",
        )
