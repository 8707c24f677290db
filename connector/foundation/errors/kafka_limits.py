"""K300: limits of Kafka that the settings exceed."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_SERVERS = "kafka-1:9092"

REQUEST_SIZE = ErrorCode(
    "K301",
    "kafka {servers}: {kafka.record_bytes_max} ({record}) is too close to the brokers' "
    "socket.request.max.bytes ({request})",
    "set it at least {overhead} bytes below the limit of the brokers, or raise that limit",
    cause=(
        "A request with one record of the largest size would be larger than the brokers take. They "
        "then close the connection silently."
    ),
    example={
        "servers": _SERVERS,
        "record": 104_857_600,
        "request": 104_857_600,
        "overhead": 65_536,
    },
)
TIMEOUT_LIMIT = ErrorCode(
    "K302",
    "kafka {servers}: {kafka.transaction_timeout_seconds} ({timeout:g}) is above the brokers' "
    "transaction.max.timeout.ms ({limit})",
    "lower the one or raise the other",
    cause="Brokers limit how long a transaction may take.",
    example={"servers": _SERVERS, "timeout": 3600.0, "limit": 900_000},
)
REPLICAS = ErrorCode(
    "K303",
    "kafka {servers}: {kafka.replication_factor} is {factor}, above the number of brokers, "
    "{brokers}",
    "lower it",
    cause="Each replica of a topic is on a broker of its own.",
    example={"servers": _SERVERS, "factor": 3, "brokers": 1},
)
BROKERS_DOWN = ErrorCode(
    "K304",
    "kafka {servers}: {up} of {brokers} brokers are up, and a new topic needs "
    "{kafka.replication_factor} ({factor}) of them",
    "start the others",
    end=End.RETRIED,
    cause="Each replica of a topic is on a broker of its own, and some brokers are down.",
    example={"servers": _SERVERS, "up": 2, "brokers": 3, "factor": 3},
)
CHANGED_LIMITS = ErrorCode(
    "K305",
    "kafka {servers}: topics have got other limits of max.message.bytes: {topics}",
    end=End.RETRIED,
    cause=(
        "The brokers have refused a record that is too large, and the limits of these topics, in "
        "parentheses, have changed since the stream began. It goes on from its last commit with "
        "the new ones, and sets the table of a larger record aside."
    ),
    example={"servers": _SERVERS, "topics": ["cdc.erp.orders (1048588)"]},
)
OUTLASTED = ErrorCode(
    "K311",
    "source transaction {transaction_id} was not delivered in {seconds:.0f} seconds: {why}",
    end=End.RETRIED,
    frame=True,
    cause=(
        "A source transaction goes through one transaction of Kafka, and Kafka aborts it after "
        "kafka.transaction_timeout_seconds. It is tried once more, alone."
    ),
    example={
        "transaction_id": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
        "seconds": 61.0,
        "why": "kafka kafka-1:9092: cannot commit a transaction",
    },
)
OUTLASTED_TWICE = ErrorCode(
    "K312",
    "kafka {servers}: source transaction {transaction} was not delivered in {seconds:.0f} seconds, "
    "nor the time before, and Kafka aborts what takes longer than "
    "{kafka.transaction_timeout_seconds} ({timeout:g})",
    "raise it, and transaction.max.timeout.ms of the brokers if that is lower",
    cause=(
        "A source transaction goes through one transaction of Kafka. This one is too large for "
        "the time that Kafka allows, even alone."
    ),
    example={
        "servers": _SERVERS,
        "transaction": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
        "seconds": 61.0,
        "timeout": 60.0,
    },
)
NO_TOPICS_NOW = ErrorCode(
    "K321",
    "no topic can be created now: brokers are down",
    "start them",
    end=End.LOGGED,
    cause=(
        "Existing topics work. If the stream needs a topic for another table, it waits until "
        "there is a broker for each replica."
    ),
)
NO_RIGHT_TO_CREATE = ErrorCode(
    "K322",
    "the user may not create topics of tables",
    "create those of followed tables beforehand, or allow CREATE and DESCRIBE on topics that start "
    "with {kafka.topic_prefix}",
    end=End.LOGGED,
    cause="Existing topics work. A table that needs another topic is set aside.",
)
SMALL_TOPICS = ErrorCode(
    "K323",
    "topics take smaller records than {kafka.record_bytes_max}: a larger one is not published",
    "raise their max.message.bytes",
    end=End.LOGGED,
    cause=(
        "The topics existed before, or the setting was raised since they were created. The table "
        "of a record that is larger, also after compression, is set aside."
    ),
)
NO_LIMITS = ErrorCode(
    "K324",
    "the limits of Kafka are not compared with {kafka.record_bytes_max}",
    "to compare them, allow the user DESCRIBE_CONFIGS",
    end=End.LOGGED,
    cause="The user may not read the settings of brokers and topics. The stream works without.",
)
STANDSTILL = ErrorCode(
    "K325",
    "the source has more, and nothing is delivered",
    "check that the brokers answer; a large transaction may take long",
    end=End.LOGGED,
    cause="Nothing was committed for a minute although the source has more than was delivered.",
)
