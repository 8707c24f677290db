"""Topics, headers and operations: the names that records go by."""

from __future__ import annotations

import re
from typing import Final

HEADER_SEQ: Final = "cdc.seq"
HEADER_OP: Final = "cdc.op"
HEADER_SCHEMA: Final = "cdc.schema"
HEADER_TXN: Final = "cdc.txn"
# Only where other pipelines may write to the same topic: the name of the pipeline.
HEADER_PIPELINE: Final = "cdc.pipeline"

OP_CREATE: Final = "c"
OP_UPDATE: Final = "u"
OP_DELETE: Final = "d"
OP_TRUNCATE: Final = "t"
OP_READ: Final = "r"

# Control topics, `<prefix>.<suffix>`, one partition each; `<prefix>` itself holds DDL.
SCHEMA_TOPIC_SUFFIX: Final = "schema"
PROGRESS_TOPIC_SUFFIX: Final = "progress"
SNAPSHOT_TOPIC_SUFFIX: Final = "snapshot"
FENCES_TOPIC_SUFFIX: Final = "fences"
QUARANTINE_TOPIC_SUFFIX: Final = "quarantine"
COMMANDS_TOPIC_SUFFIX: Final = "commands"
TRANSACTION_TOPIC_SUFFIX: Final = "transaction"
HEARTBEAT_TOPIC_SUFFIX: Final = "heartbeat"
# https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/internals/Topic.java
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")

_CONTROL_TOPIC_SUFFIXES: Final = (
    SCHEMA_TOPIC_SUFFIX,
    PROGRESS_TOPIC_SUFFIX,
    SNAPSHOT_TOPIC_SUFFIX,
    FENCES_TOPIC_SUFFIX,
    QUARANTINE_TOPIC_SUFFIX,
    COMMANDS_TOPIC_SUFFIX,
    TRANSACTION_TOPIC_SUFFIX,
    HEARTBEAT_TOPIC_SUFFIX,
)


def control_topic(prefix: str, suffix: str) -> str:
    """Return the name of a control topic."""
    return f"{prefix}.{suffix}"


def row_topic(prefix: str, database: str, table: str) -> str:
    """Return the topic of a table's rows; characters that Kafka forbids become `_`."""
    return ".".join((prefix, topic_part(database), topic_part(table)))


def own_topics(prefix: str) -> frozenset[str]:
    """Return the topics that hold records of the connector's own: DDL, and the control topics."""
    return frozenset({prefix, *(control_topic(prefix, each) for each in _CONTROL_TOPIC_SUFFIXES)})


def is_topic_name(name: str) -> bool:
    """Return whether Kafka allows a topic with this name."""
    return _TOPIC.fullmatch(name) is not None


def topic_part(name: str) -> str:
    """Return `name` with every character outside `[A-Za-z0-9_-]` replaced by `_`."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)
