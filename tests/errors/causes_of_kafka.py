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
        _refused(
            "replication", "kafka.replication_factor is above the number of brokers: lower it"
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
            "check.replication",
            "Kafka {servers}: kafka.replication_factor is {factor}, above the number of brokers, "
            "{brokers}",
            ": lower it",
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

KAFKA = (BROKERS, RECORDS)
