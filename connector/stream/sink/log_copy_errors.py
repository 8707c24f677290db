"""`log copy`: why a log cannot be copied, and a log that is not complete."""

from connector.foundation.errors.code import End, ErrorCode

NOT_COMPLETE = ErrorCode(
    "K611",
    "kafka {servers}: topic {topic} says that this log is not a complete copy of another one",
    "repeat `binlog-connector log copy`, which starts over, or continue with the other log",
    cause="A copy was interrupted. It creates this topic first, and deletes it last, so that no "
    "connector starts with a part of a log.",
    example={"topic": "shop.log-copy"},
)
TARGET_IN_USE = ErrorCode(
    "K612",
    "kafka {servers}: topic {topic} has records, so the log cannot be copied there",
    "delete the topics of {kafka.topic_prefix} there, or name another folder or cluster",
    cause="Records get the same offsets as in the other log, so the topics must be empty.",
    example={"topic": "shop.progress"},
)
STILL_WRITTEN = ErrorCode(
    "K613",
    "kafka {servers}: a program writes to topic {topic}, so the log cannot be copied: its offsets "
    "were {before}, and are {after}",
    "stop the connector and all else that writes to {kafka.topic_prefix}, then repeat the command; "
    "if "
    "the connector was killed, start and stop it, so that its open transaction ends",
    cause="Records that are written to the old log during the copy would be missing in the new "
    "one. You need not undo anything: the command starts over.",
    example={"topic": "shop.progress", "before": 4711, "after": 4713},
)
OFFSETS_DIFFER = ErrorCode(
    "K614",
    "kafka {servers}: partition {partition} of topic {topic} ends at offset {found}, not at "
    "{wanted}, as in the log that was copied",
    "stop all programs that write to these topics, then repeat the command",
    end=End.PASSING,
    cause="Another program has written to the new log during the copy, or records of the old log "
    "were deleted meanwhile. The command starts over.",
    example={"topic": "shop.progress", "partition": 0, "found": 4713, "wanted": 4711},
)
NO_SETTINGS = ErrorCode(
    "K616",
    "kafka {servers}: the user may not see the settings of topic {topic}, which the new topic "
    "needs",
    "allow DESCRIBE_CONFIGS on topics that start with {kafka.topic_prefix}",
    cause="The topics of the new log keep records for as long as those of the old one, so the "
    "command reads their settings. The stream itself does not need this right.",
    example={"topic": "shop.progress"},
)
SAME_LOG = ErrorCode(
    "K615",
    "{path} and {other} do not name two logs of one pipeline: {why}",
    "make the second file a copy of the first one with other brokers, or another folder, in "
    "{kafka.bootstrap_servers}",
    cause="The command reads the log of the first configuration and writes that of the second one.",
    example={"path": "shop.toml", "other": "new.toml", "why": "name differs"},
)
