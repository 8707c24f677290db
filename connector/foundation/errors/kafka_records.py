"""K500: records that earlier runs, or other programs, left in Kafka."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_UNLIKE = "give the pipeline a new name, or remove the record"
_CAUSE = (
    "A newer version wrote the record, or another program did. The connector never ignores "
    "what it does not understand."
)
_WHY = {"why": "unexpected keyword argument 'new'"}

PROGRESS = ErrorCode(
    "K501",
    "{record} is not a progress record of this version ({why})",
    _UNLIKE,
    cause=_CAUSE,
    example={"record": "shop.progress[0]@7", **_WHY},
)
COPY = ErrorCode(
    "K502",
    "{record} is not the state of a copy of this version ({why})",
    _UNLIKE,
    cause=_CAUSE,
    example={"record": "shop.snapshot[0]@7", **_WHY},
)
FENCE = ErrorCode(
    "K503",
    "{record} is not a fence of this version ({why})",
    "upgrade the connector, or remove the record and copy the table again",
    cause=_CAUSE,
    example={"record": "shop.fences[0]@7", **_WHY},
)
QUARANTINE = ErrorCode(
    "K504",
    "a record in the quarantine is not one of this version ({why})",
    "upgrade the connector",
    cause=_CAUSE,
    example={"why": "KeyError('part')"},
)
NO_ROWS = ErrorCode(
    "K505",
    "{position}: {event_name} holds no rows",
    "upgrade the connector",
    cause=_CAUSE,
    example={"position": "binlog.000042:1187", "event_name": "QUERY_EVENT"},
)
QUARANTINE_ROOM = ErrorCode(
    "K511",
    "{position}: the description of {table} does not fit into a record of the quarantine",
    "raise {kafka.record_bytes_max}, and max.message.bytes of the topic if it existed before",
    cause=(
        "A change that is kept back is stored with the description of its table. A table of very "
        "many columns has a long description."
    ),
    example={"position": "binlog.000042:1187", "table": "erp.orders"},
)
KEY_FORM = ErrorCode(
    "K512",
    "table {table}, topic {topic}: the newest key ({record}) has the form {found}, but new keys "
    "get the form {wanted}",
    "set {envelope.key_format} to the form that the topic has, or choose another "
    "{kafka.topic_prefix}",
    end=End.LOGGED,
    cause=(
        "The key of a row in two forms is two keys for Kafka. They may be in different partitions, "
        "so consumers may apply an old change after a new one, and compaction keeps the last "
        "record of each. In the profile exact, all keys are json. Only `check` says this: `run` "
        "goes on, because consumers may be ready for it."
    ),
    example={
        "table": "erp.orders",
        "topic": "shop.erp.orders",
        "record": "shop.erp.orders[0]@41",
        "found": "json_with_schema",
        "wanted": "json",
    },
)
OTHER_KEY = ErrorCode(
    "K513",
    "table {table}, topic {topic}: the newest key ({record}) has a form that no "
    "{envelope.key_format} writes, and new keys get the form {wanted}",
    "choose another {kafka.topic_prefix}",
    end=End.LOGGED,
    cause=(
        "Another program has written the record, for example with the StringConverter of Kafka "
        "Connect. The key of a row in two forms is two keys for Kafka, maybe in different "
        "partitions."
    ),
    example={
        "table": "erp.orders",
        "topic": "shop.erp.orders",
        "record": "shop.erp.orders[0]@41",
        "wanted": "json",
    },
)
