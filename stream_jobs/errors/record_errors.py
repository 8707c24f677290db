"""Records that the job refuses."""

from connector.foundation.errors.code import frame, notice, table_failure

RECORD_WITHOUT_SEQUENCE = frame(
    "{topic}, partition {partition}, offset {offset}: {why}",
    "look at the record with a Kafka consumer, and repair what wrote it; then resume the table "
    "without the record: `binlog-connector-mirror resume CONFIG TABLE --skip-record "
    "{partition}:{offset}`",
    was="M201",
)
RECORD = frame(
    "{topic}, partition {partition}, offset {offset}, cdc.seq {seq}: {why}",
    "look at the record with a Kafka consumer, and repair what wrote it; then resume the table "
    "without the record: `binlog-connector-mirror resume CONFIG TABLE --skip-record "
    "{partition}:{offset}`",
    was="M202",
)
ADVISED_RECORD = frame(
    "{topic}, partition {partition}, offset {offset}, cdc.seq {seq}: {why}", was="M222"
)

WRONG_RECORD = table_failure(
    "M225",
    "{reason}",
    cause="The connector writes no such record. Another program wrote it, or changed it.",
)
NO_SEQUENCE = WRONG_RECORD.because("there is no header cdc.seq", was="M203")
WRONG_SEQUENCE = WRONG_RECORD.because("the header cdc.seq is not a sequence", was="M204")
NO_HEADER = WRONG_RECORD.because("there is no header {header}", was="M205")
WRONG_OP = WRONG_RECORD.because("the header cdc.op is not c, u, d, r or t", was="M206")
NO_VALUE = WRONG_RECORD.because("there is no value, and cdc.op is not d", was="M207")
NO_KEY = WRONG_RECORD.because("the record has no key, but its schema has a primary key", was="M208")
NOT_JSON = WRONG_RECORD.because(
    "the value is not JSON with the types of schema {schema}", was="M209"
)
NO_IMAGE = WRONG_RECORD.because("the value has no row image for its cdc.op", was="M210")
NO_COLUMN = WRONG_RECORD.because("column {column} has no value", was="M211")
WRONG_FORM = WRONG_RECORD.because(
    "the value of column {column} does not look like {type}", was="M212"
)
WRONG_VALUE = WRONG_RECORD.because("the value of column {column} is no {type}", was="M213")

ZERO_DATE = table_failure(
    "M214",
    "column {column} holds a zero, partial or impossible date, which Spark's types cannot",
    'set mirror.zero_dates = "null" to store NULL for such values, start the job again, and resume '
    "the table: `binlog-connector-mirror resume CONFIG TABLE`",
    cause="MySQL can store dates such as 0000-00-00 and 2024-05-00, which do not exist.",
    example={"column": "shipped"},
)
ZERO_KEY = table_failure(
    "M215",
    "column {column} of the primary key holds a zero, partial or impossible date, which Spark's "
    "types cannot",
    "exclude the table in the connector's source.exclude_tables",
    cause="A key cannot be NULL, so that mirror.zero_dates does not help here.",
    example={"column": "day"},
)
DAMAGED_BATCH = table_failure(
    "M216",
    "{topic}, partition {partition}, offset {offset}: the record batch is damaged",
    "check the disks of the brokers, and resume the table; to give up the batch, let Kafka delete "
    "the records up to it, let the connector copy the table again (`binlog-connector snapshot`), "
    "and then let the mirror be made again: "
    "`binlog-connector-mirror resume CONFIG TABLE --rebuild`",
    cause="The checksum of the batch is wrong, or its records do not have the announced form.",
)
BATCH_TOO_LARGE = table_failure(
    "M223",
    "{topic}, partition {partition}, offset {offset}: the records of the batch have more than "
    "{limit} bytes when they are decompressed",
    "look for the program that wrote it, and take its right to write away; to give up the batch, "
    "let Kafka delete the records up to it, let the connector copy the table again "
    "(`binlog-connector snapshot`), and then let the mirror be made again: "
    "`binlog-connector-mirror resume --rebuild`",
    cause="The connector writes no such batch. A few kilobytes can stand for terabytes, which "
    "would fill the memory of the job.",
    example={"limit": 1073741824},
)
BEYOND_PROGRESS = table_failure(
    "M224",
    "{topic}, partition {partition}, offset {offset}: the sequence of the record is beyond what "
    "{progress} says of any pipeline",
    "no pipeline wrote the record: look who may write to the topic, and take that right away; then "
    "resume the table without the record: `binlog-connector-mirror resume CONFIG TABLE "
    "--skip-record {partition}:{offset}`",
    cause="A pipeline writes changes and its progress in one transaction, so no change of a "
    "pipeline is beyond its progress. With such a sequence, a forged record would win over each "
    "later change of its row, and over each copy.",
    example={"progress": "shop.progress"},
)
RECORDS_GONE = table_failure(
    "M217",
    "{topic}, partition {partition}: records from offset {offset} on are wanted, but the first one "
    "that Kafka has is {first}",
    "let the connector copy the table again (`binlog-connector snapshot`), and then let the mirror "
    "be made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`; keep the topics for "
    "longer than the job may be down",
    cause="Kafka deleted records before the job had read them, or somebody made the topic again.",
    example={"first": 9000},
)
TOPIC_LOST = table_failure(
    "M218",
    "{reason}",
    "let the connector copy the table again (`binlog-connector snapshot`), and then let the mirror "
    "be made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`",
    cause="Somebody deleted the topic and made it again, or the brokers lost records.",
)
TOPIC_SHORTER = TOPIC_LOST.because(
    "{topic}, partition {partition}: it ends at {end}, but had records up to {offset}"
)
TOPIC_MADE_AGAIN = TOPIC_LOST.because(
    "{topic}: it was deleted and made again after the mirror had read a part of it"
)
NOT_DELETED = notice(
    "M226",
    "records that the tables have are not deleted: {why}",
    "let the account of the job delete records of the topics, and see and read the groups "
    "<kafka.topic_prefix>.mirror.; if Kafka does not answer, wait",
    cause="With kafka.delete_after_hours, the job deletes records that all mirrors of the topics "
    "have. The tables go on, and the job tries again; until then, kafka.retention_hours of the "
    "connector says what Kafka deletes.",
    example={"why": "[Error 29] TopicAuthorizationFailedError"},
)
NO_SUCH_ROW = table_failure(
    "M219",
    "the mirror does not have the row that it takes away",
    "let the connector copy the table again (`binlog-connector snapshot`), and resume it without "
    "the record: `binlog-connector-mirror resume CONFIG TABLE --skip-record PARTITION:OFFSET`",
    cause='The mode "rows" needs all rows of the table: the topic began without a copy, or '
    "another program has changed the mirror.",
)
OUT_OF_ORDER = table_failure(
    "M220",
    "the mirror has a later version of its row",
    cause='The mode "history" needs the changes of a key in order. The topic has got partitions, '
    "and the key has moved.",
)
PARTITIONS_MISSING = table_failure(
    "M221",
    "{topic}: Kafka does not show partition {partition}, from which records up to offset {offset} "
    "were read",
    "if the topic exists (Kafka may not have been ready), resume the table again; if somebody "
    "deleted it, let the mirror be made again: "
    "`binlog-connector-mirror resume CONFIG TABLE --rebuild`",
    cause="Somebody deleted the topic, or made it again with fewer partitions.",
)
