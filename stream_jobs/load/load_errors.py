"""The first load of tables, whose rows the job reads from the source itself."""

from connector.foundation.errors.code import frame, table_failure

NO_SOURCE = table_failure(
    "M321",
    "the first rows of {table} are not in its topic, and the job does not know where to read them",
    "set first_load.url and its password in the configuration of the job",
    cause='The connector runs with snapshot.to = "mirror": the job reads the rows of the first '
    "copy from the source. Until it has them, it applies no change of the table.",
    example={"table": "erp.orders"},
)
OTHER_MODE = table_failure(
    "M322",
    "the first rows of {table} are not in its topic, and the job cannot load them into a mirror "
    "with the mode {mode}",
    'use mode = "current" for the table, or snapshot.to = "topics" in the connector',
    cause='The connector runs with snapshot.to = "mirror": the job reads the rows of the first '
    "copy from the source. It can do this for the mode current alone: other modes get all their "
    "rows from records of the topic.",
    example={"table": "erp.orders", "mode": "history"},
)
MIRROR_THERE = table_failure(
    "M323",
    "{table} is to be loaded, and the mirror at {path} has rows of another copy",
    "remove this folder, or give the mirror another name in [[tables]]; for a shard, whose folder "
    "has the rows of others, run `binlog-connector snapshot`",
    cause="The connector began a first copy, whose rows replace all earlier rows. The job "
    "removes nothing that it did not load for this copy.",
    example={"table": "erp.orders", "path": "/data/mirror/erp/orders"},
)
OTHER_SERVER = table_failure(
    "M324",
    "{server} is not the server that the connector reads, and has no MySQL GTIDs that tell what "
    "it has",
    "name the connector's server in first_load.url; a replica can be read on MySQL with GTIDs",
    cause="The rows of the load must have everything that the topics had when it began. Only "
    "MySQL's GTIDs can prove this for any server.",
)
NO_SUCH_COLUMNS = table_failure(
    "M325",
    "{table} has other columns at the source than its topic has now",
    "if it stays although `binlog-connector status` shows no delay, no row of the table has shown "
    "the new columns yet: change a row, or run `binlog-connector snapshot` for the table",
    cause="It was altered, or made again. The load starts over when the connector has delivered "
    "the new columns: with the statement, or with the next row.",
    example={"table": "erp.orders"},
)
LAGS = table_failure(
    "M326",
    "{server} does not have yet what the topics had when the load began",
    "look at its replication; the load continues by itself when it has caught up",
    cause="A replica lags, or does not replicate.",
)
OWN_TRANSACTIONS = table_failure(
    "M327",
    "{server} has transactions that the connector's source does not have: {gtids}",
    "name another server in first_load.url; or commit empty transactions with these GTIDs at the "
    "source",
    cause="Somebody has written to the replica, so its rows may differ from the source's. The "
    "topics never get these transactions, so they would never have everything that was read.",
)
SEVERAL_SERVERS = table_failure(
    "M328",
    "first_load.replicas names more servers, and no MySQL GTIDs tell what they have",
    "leave out first_load.replicas, and name the connector's server in first_load.url",
    cause="Ranges may be read at several servers if each can prove that it has everything that the "
    "topics had when the load began. Only MySQL's GTIDs can prove this.",
)
FILTERS = table_failure(
    "M329",
    "{server} has replication filters, so rows may be missing there: {filters}",
    "name a server without filters in first_load.url and first_load.replicas",
    cause="A replica logs a transaction that it filters as an empty one, with its GTID. So its "
    "GTIDs say that it has everything, and its tables do not have it.",
    example={"filters": "Replicate_Ignore_Table=erp.orders"},
)
SAME_SERVER = table_failure(
    "M330",
    "{server} is the server that is also read as {other}",
    "name each server once in first_load.url and first_load.replicas",
    cause="Two addresses lead to one server. It is read at one of them, because at both it would "
    "be read twice as fast as its pace allows. If that one cannot be reached any more, the other "
    "one is read.",
    example={"other": "db2:3306"},
)
SLOW = table_failure(
    "M331",
    "{server} needs more than {seconds:g} seconds for one row of {table}",
    "look at what keeps the server busy, or name another one in first_load.url; the load continues "
    "by itself when the server has time",
    cause="Each SELECT of a load has a time limit. A server that is not busy exceeds it if it has "
    "to pass many deleted rows that it has not purged yet, because an old transaction may still "
    "see them.",
    example={"table": "erp.orders"},
)
ROW = frame("a row of {table}: {why}")
ON_WORKER = frame("on the worker {worker}: {why}")
URL = frame("first_load.url: {why}")
