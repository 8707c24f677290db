"""Names of topics, headers and operations, and the sequence that orders all changes.

The sequence is the value of the header `cdc.seq`: a position in the log as digits of a fixed
width, so that the order of texts is the order of changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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


# Digits of each part of a sequence on the wire; the widths are also the limits.
SEQ_EPOCH_DIGITS: Final = 4
SEQ_FILE_DIGITS: Final = 8
SEQ_POSITION_DIGITS: Final = 10
SEQ_EVENT_DIGITS: Final = 8
SEQ_ROW_DIGITS: Final = 8
SEQ_DIGITS: Final = (
    SEQ_EPOCH_DIGITS + SEQ_FILE_DIGITS + SEQ_POSITION_DIGITS + SEQ_EVENT_DIGITS + SEQ_ROW_DIGITS
)


@dataclass(frozen=True, slots=True, order=True)
class Sequence:
    """A sequence: the position of a change in the total order; compared field by field, as numbers.

    `row` is the row's index in its event times two, plus one for the create side of a
    primary key change.
    """

    epoch: int
    file: int
    position: int
    event: int
    row: int

    def __str__(self) -> str:
        """Return the 38 digits of the header `cdc.seq`; text order equals number order."""
        return f"{self.epoch:04d}{self.file:08d}{self.position:010d}{self.event:08d}{self.row:08d}"

    @classmethod
    def parse(cls, text: str) -> Sequence:
        """Read the 38 digits of the header `cdc.seq`.

        Raises ValueError for anything else.
        """
        if len(text) != SEQ_DIGITS or not (text.isascii() and text.isdigit()):
            reason = f"a sequence has {SEQ_DIGITS} digits, not {text!r}"
            raise ValueError(reason)
        return cls(
            int(text[0:4]), int(text[4:12]), int(text[12:22]), int(text[22:30]), int(text[30:38])
        )
