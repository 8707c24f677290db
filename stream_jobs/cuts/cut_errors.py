"""The cuts of a mirror: moments at which the versions of all tables are known."""

from connector.foundation.errors.code import End, ErrorCode, configuration_error, notice

NOT_A_GTID = configuration_error(
    "M801",
    "{text!r} is not a GTID, nor a set of GTIDs, of the source",
    "give it as the server prints it: `3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5` for MySQL, "
    "`0-1-42` for MariaDB",
    cause="A cut is looked for by the transactions that it must have.",
    example={"text": "binlog.000004"},
)
PREFIX_MISSING = configuration_error(
    "M831",
    "several pipelines share the mirror at {path}, and each has its own cuts",
    "name one by the kafka.topic_prefix of its job: `mirror_at(path, prefix=…)`",
    cause="Two sources have no common moment.",
)
NO_PROGRESS = notice(
    "M802",
    "there are no cuts: the topic {topic} has no record that says up to where the topics have "
    "everything",
    "look whether the job may read the topic; the connector writes it in each of its transactions",
    cause="A cut is a moment that all topics have come to. Only the connector knows it. The tables "
    "go on without cuts.",
)
SEVERAL = notice(
    "M803",
    "there are no cuts: several pipelines write to {topic} in turn",
    "give each pipeline a kafka.topic_prefix of its own, and each prefix its own mirror",
    cause="Each pipeline knows where its own tables are in Kafka, so no moment stands for all of "
    "them. A pipeline that replaces another one does no harm.",
)
HELD_UP = notice(
    "M804",
    "there is no cut: a transaction in {topic} does not end",
    "look at the brokers, and for other programs that write to the topic; the next cut comes when "
    "the transaction has ended",
    cause="The connector has ended its transaction, and Kafka has not told it to all topics. The "
    "tables go on without cuts.",
)
NOT_COVERED = notice(
    "M805",
    "there is no cut: there are changes that no progress record covers",
    "look for other programs that write to the topics; the next cut comes with the next record of "
    "the connector",
    cause="The connector writes changes and progress in one transaction. The tables go on without "
    "cuts.",
)
LOWER = notice(
    "M830",
    "there is no cut: the sequence of the topics has begun again, below that of cut {number}, and "
    "these tables of it were not made again: {tables}",
    "let each of them be made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`; if "
    "it is not set aside, stop the job, remove the folder of its mirror, and start the job: it "
    "makes the mirror again, or sets the table aside first (M403)",
    cause="The topics were deleted, and the pipeline has started over: after a failover, or a "
    "reset of the source's log, its sequences are lower than before. What the tables have is "
    "above, so they are at no moment of the new sequence. The tables go on without cuts.",
    example={"number": 42, "tables": ("erp.orders",)},
)
NO_CUT = ErrorCode(
    "M807",
    "the mirror at {path} has no cut {wanted}",
    "`binlog-connector-mirror cuts CONFIG` shows the cuts that there are; a new mirror has its "
    "first cut when it has come to the end of the topics",
    end=End.COMMAND,
    cause="The job writes a cut when all tables have come to the same moment, and removes it after "
    "cuts.retention_hours.",
    example={"wanted": "up to 2026-03-01T12:00:00+00:00"},
)
TABLE_GONE = ErrorCode(
    "M808",
    "cut {number} of the mirror at {path}: version {version} of {table} cannot be read any more",
    "take a newer cut",
    end=End.COMMAND,
    cause="The table was deleted or made again, or another program has cleaned it up. Or the job "
    "of the cut has stopped, and pipelines that share the mirror have had newer versions for more "
    "than mirror.retention_hours: they remove the files.",
    example={"number": 42, "version": 17},
)
