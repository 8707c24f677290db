"""Kafka, what earlier runs left in it, and a second instance."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group


def _refused(key: str, fix: str) -> Cause:
    return Cause(f"kafka.{key}", "kafka {servers}: cannot {doing}", f": {fix}")


BROKERS = Group(
    "Kafka",
    "`doing` is what was tried: create topic …, write to topic …, take over transactional id ….",
    (
        Cause(
            "kafka.unavailable",
            "kafka {servers}: cannot {doing}: {why}",
            "; check kafka.bootstrap_servers, kafka.security_protocol, kafka.sasl_* and that the "
            "brokers are up",
            End.RETRIED,
        ),
        Cause(
            "kafka.superseded",
            "kafka {servers}: cannot {doing}: another process has taken over transactional id {id} "
            "and has not committed since, or this one's transaction took longer than "
            "kafka.transaction_timeout_seconds",
            ": look for a second process with this name",
            End.RETRIED,
        ),
        Cause(
            "kafka.no_answer",
            "kafka {servers}: no answer",
            ": check that the brokers are up",
            End.LOGGED,
        ),
        _refused(
            "topic_rights",
            "the user lacks rights on it: allow CREATE, DESCRIBE, READ and WRITE on topics that "
            "start with kafka.topic_prefix, or create the topic beforehand",
        ),
        _refused(
            "cluster_rights",
            "the user lacks rights on the cluster: allow CREATE and IDEMPOTENT_WRITE",
        ),
        _refused(
            "transactional_rights",
            "the user may not use this transactional id: allow DESCRIBE and WRITE on transactional "
            "ids that start with binlog-connector",
        ),
        _refused(
            "login", "authentication failed: check kafka.sasl_username and kafka.sasl_password"
        ),
        _refused("mechanism", "check kafka.sasl_mechanism against the brokers' setting"),
        _refused(
            "timeout",
            "kafka.transaction_timeout_seconds is above the brokers' transaction.max.timeout.ms: "
            "lower the one or raise the other",
        ),
        _refused("partitions", "check kafka.partitions"),
        _refused(
            "policy", "a create.topic.policy of the brokers forbids it: create the topic beforehand"
        ),
        _refused("name", "Kafka does not accept the topic's name: check kafka.topic_prefix"),
        _refused(
            "size",
            "a record is larger than Kafka takes: raise kafka.record_bytes_max, and "
            "max.message.bytes of the topic where it existed before",
        ),
        _refused("version", "the brokers are too old: Kafka 2.5 or newer is needed"),
        Cause(
            "kafka.request_size",
            "kafka {servers}: kafka.record_bytes_max ({record}) is too close to the brokers' "
            "socket.request.max.bytes ({request})",
            ": lower the one by 65536 bytes below the other, or raise the other",
        ),
        Cause(
            "kafka.too_long",
            "kafka {servers}: source transaction {transaction} was not delivered in {seconds} "
            "seconds, nor the time before, and Kafka aborts what takes longer than "
            "kafka.transaction_timeout_seconds ({timeout})",
            ": raise it, and transaction.max.timeout.ms of the brokers where that is lower",
        ),
        Cause(
            "kafka.timeout_limit",
            "kafka {servers}: kafka.transaction_timeout_seconds ({timeout}) is above the brokers' "
            "transaction.max.timeout.ms ({limit})",
            ": lower the one or raise the other",
        ),
        Cause(
            "kafka.replicas",
            "kafka {servers}: kafka.replication_factor is {factor}, above the number of brokers, "
            "{brokers}",
            ": lower it",
        ),
        Cause(
            "kafka.brokers_down",
            "kafka {servers}: {up} of {brokers} brokers are up, and a new topic needs "
            "kafka.replication_factor ({factor}) of them",
            ": start the others",
            End.RETRIED,
        ),
        Cause(
            "kafka.no_topics_now",
            "no topic can be created now: brokers are down",
            "; start them",
            End.LOGGED,
        ),
        Cause(
            "kafka.no_right_to_create",
            "the user may not create topics of tables",
            ": create those of followed tables beforehand, or allow CREATE on topics that start "
            "with kafka.topic_prefix",
            End.LOGGED,
        ),
        Cause(
            "kafka.still",
            "the source has more, and nothing is delivered",
            ": look whether the brokers answer; a large transaction takes its time",
            End.LOGGED,
        ),
        Cause(
            "kafka.topic_size",
            "topics take smaller records than kafka.record_bytes_max: one that is larger will stop "
            "the stream",
            "; raise their max.message.bytes",
            End.LOGGED,
        ),
        Cause(
            "kafka.no_limits",
            "the limits of Kafka are not compared with kafka.record_bytes_max",
            ": the user may not DESCRIBE_CONFIGS",
            End.LOGGED,
        ),
    ),
)


def _no_way_in(key: str, what: str, fix: str, end: End = End.DEFINITE) -> Cause:
    return Cause(f"kafka.{key}", f"kafka {{servers}}: {what}", f": {fix}", end)


WAYS_IN = Group(
    "The way into Kafka",
    "Each address of `kafka.bootstrap_servers` is tried, for two seconds if it fails at once. If "
    "addresses fail by different causes, each has a line, and the attempt is repeated while one "
    "of the causes may pass.",
    (
        _no_way_in(
            "no_connection",
            "cannot connect: {why}",
            "check kafka.bootstrap_servers, firewalls, and that the brokers are up",
            End.RETRIED,
        ),
        _no_way_in("no_name", "the name cannot be resolved", "check kafka.bootstrap_servers"),
        _no_way_in(
            "no_name_now",
            "the name cannot be resolved for now",
            "check kafka.bootstrap_servers, and the name servers of this machine",
            End.RETRIED,
        ),
        _no_way_in(
            "not_kafka",
            "what listens there does not answer as Kafka does",
            "check kafka.bootstrap_servers, and that the brokers are up",
            End.RETRIED,
        ),
        _no_way_in(
            "advertised",
            "a broker answers, but none at the addresses that it gives: {addresses}",
            "set advertised.listeners of the brokers to addresses that this machine reaches",
            End.RETRIED,
        ),
        _no_way_in(
            "no_tls",
            "the listener does not speak TLS, and kafka.security_protocol is {protocol}",
            "set it to {right}, or name the port of a listener with TLS in kafka.bootstrap_servers",
        ),
        _no_way_in(
            "tls_alone",
            "the listener speaks TLS alone, and kafka.security_protocol is {protocol}",
            "set it to {right}, or name the port of a listener without TLS in "
            "kafka.bootstrap_servers",
        ),
        _no_way_in(
            "no_session",
            "no TLS session: {why}",
            "check the TLS settings of the brokers",
            End.RETRIED,
        ),
        _no_way_in(
            "certificate",
            "the broker's certificate is refused: {why}",
            "check kafka.ssl_ca, and the names in kafka.bootstrap_servers",
        ),
        _no_way_in(
            "client_certificate",
            "the broker wants a certificate of this client that it trusts",
            "set kafka.ssl_certificate and kafka.ssl_key",
        ),
        _no_way_in(
            "wants_login",
            "the listener wants a login by {offered}, and kafka.security_protocol is {protocol}",
            "set it to {right}, and set kafka.sasl_mechanism, kafka.sasl_username and "
            "kafka.sasl_password",
        ),
        _no_way_in(
            "takes_no_login",
            "the listener takes no login, and kafka.security_protocol is {protocol}",
            "set it to {right}, or name the port of a listener with a login in "
            "kafka.bootstrap_servers",
        ),
        _no_way_in(
            "other_mechanism",
            "the listener takes a login by {offered}, and kafka.sasl_mechanism is {mechanism}",
            "set one that the listener takes",
        ),
        _no_way_in(
            "login_refused",
            "authentication failed",
            "check kafka.sasl_username and kafka.sasl_password",
        ),
        Cause(
            "kafka.several",
            "kafka {servers}: no broker lets us in:\n  {first}\n  {second}",
            "",
            End.RETRIED,
        ),
    ),
)

_UNLIKE = "; give the pipeline a new name, or remove the record"

RECORDS = Group(
    "Another instance, another version",
    "What earlier runs committed is read at the start of each.",
    (
        Cause(
            "kafka.fenced",
            "pipeline {pipeline}: another instance took over (process {pid} on {host}, "
            "instance {instance})",
            "; stop one of the two, or give this one another name",
        ),
        Cause(
            "record.progress",
            "{place} is not a progress record of this version ({why})",
            _UNLIKE,
        ),
        Cause(
            "record.copy",
            "{place} is not the state of a copy of this version ({why})",
            _UNLIKE,
        ),
        Cause(
            "record.fence",
            "{place} is not a fence of this version ({why})",
            "; upgrade the connector, or remove the record and copy the table anew",
        ),
    ),
)

KAFKA = (WAYS_IN, BROKERS, RECORDS)
