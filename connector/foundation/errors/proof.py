"""R900: `verify --topics`, which compares the topics with the source's log."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

NOTHING_DELIVERED = ErrorCode(
    "R901",
    "pipeline {pipeline} has delivered nothing to the topics of {prefix}",
    "start it (binlog-connector run CONFIG), and look at its name and {kafka.topic_prefix}",
    end=End.COMMAND,
    cause="The topic of progress has no record of a pipeline of this name.",
    example={"pipeline": "shop", "prefix": "shop"},
)
OTHER_SERVER = ErrorCode(
    "R902",
    "the pipeline reads server {server_uuid} ({source}), and none of {servers} is that server",
    "name it in {source.host} or {source.failover_hosts}; the positions of one server mean nothing "
    "on another",
    cause=(
        "The sequences of the records are positions in the log of one server, so only its log can "
        "prove them. The pipeline has moved to another server since, or the configuration has."
    ),
    example={
        "server_uuid": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
        "source": "db1:3306",
        "servers": ["db2:3306"],
    },
)
NOT_DELIVERED = ErrorCode(
    "R903",
    "the pipeline has delivered everything up to {file}:{position}, and not yet {wanted}",
    "repeat it when the pipeline has come there, or name an earlier end",
    end=End.COMMAND,
    cause="The range of the proof ends after the newest committed progress.",
    example={"file": "binlog.000042", "position": 1187, "wanted": "binlog.000043:4"},
)
LOG_ENDS = ErrorCode(
    "R904",
    "source {source}: its log ends at {found}, before the delivered position {file}:{position}",
    "look whether the logs of the server were reset; `binlog-connector check CONFIG` says more",
    cause="The server has lost the end of its log: it was reset, or restored from a backup.",
    example={
        "source": "db1:3306",
        "found": "binlog.000001:157",
        "file": "binlog.000042",
        "position": 1187,
    },
)
LOG_GONE = ErrorCode(
    "R906",
    "source {source}: its log begins with {first}, and the pipeline has read up to {file} there",
    "nothing can bring a purged log back; keep logs longer than the topics, and prove the topics "
    "before they are purged",
    cause=(
        "The records of an epoch are positions in the log of one server. This server has purged "
        "the files with all of them, or begun its log anew."
    ),
    example={"source": "db1:3306", "first": "binlog.000050", "file": "binlog.000042"},
)
NO_PROGRESS = ErrorCode(
    "R907",
    "no progress record of the pipeline tells where epoch {epoch} ends",
    "nothing, if the pipeline had another name then; else Kafka has compacted the record away, and "
    "only the newer epochs can be proven",
    cause=(
        "The records of an epoch are positions in the log of one server, and the progress records "
        "name it. Kafka compacts their topic, or somebody has deleted the topic."
    ),
    example={"epoch": 1},
)
GTIDS = ErrorCode(
    "R905",
    "{option}: {text} is neither FILE:POSITION nor a GTID set ({why})",
    "give a position as binlog.000042:1187, or a GTID set as SHOW BINARY LOG STATUS prints it",
    end=End.CONFIGURATION,
    cause="A range has two ends, each a position in the log or a set of transactions.",
    example={"option": "--to", "text": "binlog", "why": "a GTID has a colon"},
)
