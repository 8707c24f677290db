"""Whether a server can go on with a stream: lagging, purged, reset, diverged or foreign."""

from connector.foundation.errors.code import ErrorCode, transient_error

_LACKS = "{server}: the server does not have transactions that were already read: {gtids}"
LAGS = transient_error(
    "S411",
    f"{_LACKS}. It is a replica that lags; the connector waits for it",
    "look at SHOW REPLICA STATUS, or name a server that has them in {source.failover_hosts}",
    cause="The stream was read from another server of the topology, and this replica has not "
    "received so much yet.",
    url_fix="look at SHOW REPLICA STATUS",
)
COMMITTING = transient_error(
    "S412",
    "{server}: the server is still committing transactions that it has sent: {gtids}. The "
    "connector waits for them",
    "if that lasts, look for sessions that wait for the acknowledgement of a semi-synchronous "
    "replica",
    cause="A server writes a transaction to its log, and sends it, before the commit is complete.",
)
_OVER = "give the pipeline a new name and start over"

LOGS_PURGED = ErrorCode(
    "S424",
    "{server}: {reason}",
    "if the stream goes on without them, changes are lost: give the pipeline a new name and "
    "start over, or point it at a replica that still has them; keep logs longer with {setting}",
    url_fix="read a replica that still has them; keep logs longer with {setting}",
    cause="The server has deleted logs that the stream had not read: the pipeline stood still for "
    "longer than logs are kept.",
)
PURGED = LOGS_PURGED.because(
    "the server has purged transactions that were not read: {gtids}",
    setting="binlog_expire_logs_seconds",
    was="S421",
)
PURGED_MARIADB = LOGS_PURGED.because(
    "the server's first log starts after {purged}, but only {read} was read",
    setting="expire_logs_days",
    was="S422",
)
PURGED_ALL_MARIADB = LOGS_PURGED.because(
    "the server's first log starts after {purged}, but nothing was read",
    setting="expire_logs_days",
    was="S423",
)

_UNTOLD = "new transactions cannot be distinguished from those that were read: "
_URL_READ = "read a server that has them"
RESET = ErrorCode(
    "S431",
    "{server}: the server's logs were reset, or a backup was restored: it lacks transactions of "
    "its own that were already read: {gtids}",
    f"{_UNTOLD}{_OVER}, or point it at a server that has them",
    cause="The transactions were first committed on this very server, and it does not know them: "
    "after RESET BINARY LOGS AND GTIDS, or after a backup was restored.",
    url_fix=f"{_UNTOLD}{_URL_READ}",
)
LOST = ErrorCode(
    "S432",
    "{server}: the server has received transactions that were already read, but its logs do not "
    "have them: {gtids}. They were reset, or its data was restored or copied",
    f"{_OVER}, or point it at a server that has them",
    cause="The replica has received the transactions, so it will not receive them again, and its "
    "own logs lack them.",
    url_fix=_URL_READ,
)
_POINT = f"point the pipeline at a server that has them, or {_OVER}"
SOURCES_RESET = ErrorCode(
    "S433",
    f"{_LACKS}. It is a replica of servers whose logs were reset, so it will not receive them",
    _POINT,
    cause="Every server that could send them to this replica has lost them.",
    url_fix=_URL_READ,
)

LOGS_RESET = ErrorCode(
    "S437",
    "{server}: the logs were reset since {file}:{position} was read: {reason}",
    "new transactions cannot be distinguished from those that were read: give the pipeline a new "
    "name and start over",
    url_fix="new transactions cannot be distinguished from those that were read: start at a "
    "position that the server still has",
    cause="The numbers, ends and times of log files only grow until the logs are reset.",
)
RESET_NEWEST_FILE = LOGS_RESET.because("its newest file is {newest}", was="S434")
RESET_FILE_END = LOGS_RESET.because("the file ends at {end}", was="S435")
RESET_FILE_TIME = LOGS_RESET.because("the file was begun at {begun}, not at {before}", was="S436")

LACKS = ErrorCode(
    "S441",
    f"{_LACKS}. It is no replica, so it will not receive them: it belongs to another topology, its "
    "logs were reset, or they were lost when it took over",
    _POINT,
    cause="The stream was read from another server, which sent more than this one has.",
    url_fix=_URL_READ,
)
DIVERGED = ErrorCode(
    "S442",
    "{server}: the server has another transaction instead of {gtid}, which was already read; "
    "domain {domain} goes up to {last} there. It has diverged from the server that was read",
    f"point the pipeline at a server that has it, or {_OVER}",
    cause="Two servers committed transactions with the same numbers of one domain, as after a "
    "failover that left the old primary running.",
    example={"gtid": "0-1-77", "domain": 0, "last": "0-2-80"},
    url_fix="read a server that has it",
)
DOMAINS_GONE = ErrorCode(
    "S443",
    "{server}: the server does not know the domains of transactions that were already read: "
    "{gtids}. They belong to another topology, were lost when the server took over, or were "
    "deleted by FLUSH BINARY LOGS DELETE_DOMAIN_ID; without the log file that was read last, "
    "nobody can tell",
    "if they were deleted, and their last transactions were read, give the pipeline a new name and "
    f'set {{source.start}} = "{{start}}"; else {_POINT}',
    cause="The server has everything else that was read. While the file in which the stream "
    "stands still exists, the connector knows that a deleted domain was read to its end, and goes "
    "on.",
    example={"start": "gtid:0-1-77"},
    url_fix=_URL_READ,
)
_NEW_NAME = "give the pipeline a new name and set {source.start}"
NO_GTID_NEXT = ErrorCode(
    "S905",
    "{server}: a stream by GTID would leave out the next transaction, at {file}:{position}, "
    "because it has no GTID",
    f'SET GLOBAL gtid_mode = ON_PERMISSIVE, and {_NEW_NAME} = "position:{{file}}:{{position}}", so '
    "that nothing is lost; set the mode ON again once what has no GTID was read",
    cause="The server's gtid_mode was not ON for a while. By GTID, it does not send what it "
    "logged meanwhile, and does not say so. By position it sends all, unless the mode is ON; but "
    "a stream by position cannot change its server.",
)
