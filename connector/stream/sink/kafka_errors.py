"""What Kafka refuses, limits of Kafka, and a second instance."""

from connector.foundation.errors.code import End, ErrorCode, Scope, notice, transient_error

UNAVAILABLE = transient_error(
    "K101",
    "kafka {servers}: cannot {doing}: {why}",
    "check {kafka.bootstrap_servers}, {kafka.security_protocol}, kafka.sasl_* and that the brokers "
    "are up",
    cause="A broker did not answer in time, or said that it cannot do this now. Brokers that "
    "start, stop or elect a leader do so for a while.",
    example={"why": "KafkaTimeoutError"},
)
TOPIC_DELETED = transient_error(
    "K122",
    "kafka {servers}: topic {topic} was deleted, or created again, while the pipeline uses it",
    "nothing: it is made again, and a table whose rows it had is copied again; look for who "
    "deletes topics",
    cause="Kafka is asked each two seconds beside the stream for the topics that the pipeline "
    "uses. What other topics had is written again as it is needed: column lists with the next "
    "rows, the states of copies by copying the tables again.",
)
POSITION_DELETED = ErrorCode(
    "K123",
    "kafka {servers}: topic {topic} was deleted while the pipeline uses it; the stream had come to "
    "{position}",
    "give the pipeline another name, and this position or these GTIDs as {source.start}",
    cause="The topic holds how far the stream was delivered; nothing else knows it after the end.",
    example={"position": "binlog.000042:1187, GTIDs 0-1-17"},
)
KEPT_BACK_DELETED = ErrorCode(
    "K124",
    "kafka {servers}: topic {topic} was deleted while changes are kept back",
    "start again, and copy the tables that were fenced (`binlog-connector snapshot`)",
    cause="The topic holds changes that could not be published, or which keys and tables these are "
    "of. Later changes would overtake them.",
)
NO_POSITION = ErrorCode(
    "K125",
    "kafka {servers}: topic {topic} has no position of pipeline {pipeline}, which has run before, "
    "as {traces} shows",
    "give the pipeline another name, and set {source.start} to the last position in its log, or to "
    "snapshot",
    cause="States and epochs are written together with a position. So somebody has deleted the "
    "topic or the record, and the stream would begin again without a word.",
    example={"traces": "shop.fences or shop.snapshot"},
)
CONTROL_PARTITIONS = ErrorCode(
    "K127",
    "kafka {servers}: topic {topic} has {partitions} partitions, and only the first one is read",
    "delete the topic if it is new, and the connector creates it with one partition; otherwise "
    "make a topic with one partition and copy the records to it",
    cause="Another program has created the topic, or somebody has added partitions. What is "
    "written to the others would never be found again.",
    example={"partitions": 3},
)
NOT_COMPACTED = ErrorCode(
    "K128",
    "kafka {servers}: topic {topic} has cleanup.policy={policy}, and Kafka would delete what later "
    "starts need",
    "set it to compact with kafka-configs.sh --alter --entity-type topics --entity-name {topic} "
    "--add-config cleanup.policy=compact",
    cause="Another program has created the topic, which holds states for as long as the pipeline "
    "exists. The last record of each key must stay.",
    example={"policy": "delete"},
)
SUPERSEDED = transient_error(
    "K102",
    "kafka {servers}: cannot {doing}: another process has taken over transactional id {id} and has "
    "not committed since, or this one's transaction took longer than "
    "{kafka.transaction_timeout_seconds}",
    "look for a second process with this name",
    cause="Kafka lets one producer write for a transactional id. It refused this one, and the "
    "progress topic does not name another instance.",
    example={"id": "binlog-connector.shop.orders"},
)
NO_ANSWER = notice(
    "K103",
    "kafka {servers}: no answer",
    "check that the brokers are up",
    cause="Kafka is asked each second beside the stream, and has not answered.",
)
INSTANCE_SUPERSEDED = ErrorCode(
    "K104",
    "pipeline {pipeline}: another instance took over (process {pid} on {host}, instance "
    "{instance})",
    "stop one of the two, or give this one another name",
    cause="Two processes ran the same pipeline. The one that was started last goes on, so that "
    "each change is written once.",
    example={"instance": "5f0c2d"},
)
OPEN_TRANSACTION = transient_error(
    "K105",
    "{topic} cannot be read up to offset {end}: a transaction is open in partition {partition}, "
    "from offset {start} on",
    "wait: it ends when the pipeline that began it runs again, or after its "
    "{kafka.transaction_timeout_seconds}; what is open for longer hangs until somebody ends it: "
    "kafka-transactions.sh abort --topic {topic} --partition {partition} --start-offset {start}",
    cause="Pipelines read what earlier runs committed. What stands after an open transaction of "
    "another pipeline cannot be read before that transaction ends. A single broker that was "
    "stopped may forget a transaction that partitions still wait for; find-hanging of "
    "kafka-transactions.sh shows all of its partitions.",
    example={"end": 42, "start": 40},
)
_RIGHTS = "The user of the connector needs rights, which an administrator of Kafka gives with ACLs."
TOPIC_RIGHTS = ErrorCode(
    "K111",
    "kafka {servers}: cannot {doing}: the user lacks rights on it",
    "allow CREATE, DESCRIBE, READ and WRITE on topics that start with {kafka.topic_prefix}, or "
    "create the topic beforehand; a topic without rows has one partition, and some are compacted",
    cause=_RIGHTS,
    scope=Scope.PLACE,
)
CLUSTER_RIGHTS = ErrorCode(
    "K112",
    "kafka {servers}: cannot {doing}: the user lacks rights on the cluster",
    "allow CREATE and IDEMPOTENT_WRITE",
    cause=_RIGHTS,
)
TRANSACTIONAL_RIGHTS = ErrorCode(
    "K113",
    "kafka {servers}: cannot {doing}: the user may not use this transactional id",
    "allow DESCRIBE and WRITE on transactional ids that start with binlog-connector",
    cause=_RIGHTS,
)
_LOGIN = "The broker asked for a login and refused the one that it was given."
LOGIN = ErrorCode(
    "K114",
    "kafka {servers}: cannot {doing}: authentication failed",
    "check {kafka.sasl_username} and {kafka.sasl_password}",
    end=End.PASSING,
    cause=_LOGIN,
)
MECHANISM = ErrorCode(
    "K115",
    "kafka {servers}: cannot {doing}: the brokers do not take {kafka.sasl_mechanism}",
    "compare it with the brokers' sasl.enabled.mechanisms",
    cause=_LOGIN,
)
TIMEOUT = ErrorCode(
    "K116",
    "kafka {servers}: cannot {doing}: {kafka.transaction_timeout_seconds} is above the brokers' "
    "transaction.max.timeout.ms",
    "lower the one or raise the other",
    cause="Brokers limit how long a transaction may take.",
)
PARTITIONS = ErrorCode(
    "K117",
    "kafka {servers}: cannot {doing}: Kafka does not accept the number of partitions",
    "check {kafka.partitions}",
    cause="A topic needs one partition at least, and a cluster may have a limit.",
    scope=Scope.PLACE,
)
POLICY = ErrorCode(
    "K118",
    "kafka {servers}: cannot {doing}: a create.topic.policy of the brokers forbids it",
    "create the topic beforehand; a topic without rows has one partition, and some are compacted",
    cause="An administrator of Kafka gave rules for new topics, and this one breaks them.",
    scope=Scope.PLACE,
)
TOPIC_NAME = ErrorCode(
    "K119",
    "kafka {servers}: cannot {doing}: Kafka does not accept the topic's name",
    "check {kafka.topic_prefix}",
    cause="Names of topics have 249 characters at most: letters, digits, `.`, `_` and `-`.",
    scope=Scope.PLACE,
)
RECORD_SIZE = ErrorCode(
    "K120",
    "kafka {servers}: cannot {doing}: a record is larger than Kafka takes",
    "raise {kafka.record_bytes_max}, and max.message.bytes of the topic if it existed before",
    cause="A row becomes one record, and a record must fit into one message of Kafka. The "
    "connector creates topics that take records of this size, but does not change topics that "
    "exist.",
    scope=Scope.PLACE,
)
VERSION = ErrorCode(
    "K121",
    "kafka {servers}: cannot {doing}: the brokers are too old",
    "Kafka 2.1 or newer is needed",
    cause="The brokers do not know a request that the connector cannot do without.",
)
REQUEST_SIZE = ErrorCode(
    "K301",
    "kafka {servers}: {kafka.record_bytes_max} ({record}) is too close to the brokers' "
    "socket.request.max.bytes ({request})",
    "set it at least {overhead} bytes below the limit of the brokers, or raise that limit",
    cause="A request with one record of the largest size would be larger than the brokers take. "
    "They then close the connection silently.",
    example={"record": 104_857_600, "request": 104_857_600, "overhead": 65_536},
)
TIMEOUT_LIMIT = ErrorCode(
    "K302",
    "kafka {servers}: {kafka.transaction_timeout_seconds} ({timeout:g}) is above the brokers' "
    "transaction.max.timeout.ms ({limit})",
    "lower the one or raise the other",
    cause="Brokers limit how long a transaction may take.",
    example={"timeout": 3600.0, "limit": 900_000},
)
REPLICAS = ErrorCode(
    "K303",
    "kafka {servers}: {kafka.replication_factor} is {factor}, above the number of brokers, "
    "{brokers}",
    "lower it",
    cause="Each replica of a topic is on a broker of its own.",
    example={"factor": 3, "brokers": 1},
)
BROKERS_DOWN = transient_error(
    "K304",
    "kafka {servers}: {up} of {brokers} brokers are up, and a new topic needs "
    "{kafka.replication_factor} ({factor}) of them",
    "start the others",
    cause="Each replica of a topic is on a broker of its own, and some brokers are down.",
    example={"up": 2, "brokers": 3, "factor": 3},
)
CHANGED_LIMITS = transient_error(
    "K305",
    "kafka {servers}: topics have got other limits of max.message.bytes: {topics}",
    cause="The brokers have refused a record that is too large, and the limits of these topics, "
    "in parentheses, have changed since the stream began. It goes on from its last commit with "
    "the new ones, and sets the table of a larger record aside.",
    example={"topics": ["cdc.erp.orders (1048588)"]},
)
NO_TOPICS_NOW = notice(
    "K321",
    "no topic can be created now: brokers are down",
    "start them",
    cause="Existing topics work. If the stream needs a topic for another table, it waits until "
    "there is a broker for each replica.",
)
NO_RIGHT_TO_CREATE = notice(
    "K322",
    "the user may not create topics of tables",
    "create those of followed tables beforehand, or allow CREATE and DESCRIBE on topics that start "
    "with {kafka.topic_prefix}",
    cause="Existing topics work. A table that needs another topic is set aside.",
)
SMALL_TOPICS = notice(
    "K323",
    "topics take smaller records than {kafka.record_bytes_max}: a larger one is not published",
    "raise their max.message.bytes",
    cause="The topics existed before, or the setting was raised since they were created. The "
    "table of a record that is larger, also after compression, is set aside.",
)
NO_LIMITS = notice(
    "K324",
    "the limits of Kafka are not compared with {kafka.record_bytes_max}",
    "to compare them, allow the user DESCRIBE_CONFIGS",
    cause="The user may not read the settings of brokers and topics. The stream works without.",
)
STANDSTILL = notice(
    "K325",
    "the source has more, and nothing is delivered",
    "check that the brokers answer; a large transaction may take long",
    cause="Nothing was committed for a minute although the source has more than was delivered.",
)
STAYS_OPEN = notice(
    "K326",
    "Kafka has not aborted the open transaction",
    "wait: it ends when the pipeline runs again, or after its {kafka.transaction_timeout_seconds}",
    cause="The stream has failed in a transaction, and Kafka did not accept its end within ten "
    "seconds. Until it ends, readers of committed records see nothing after its first record.",
)
