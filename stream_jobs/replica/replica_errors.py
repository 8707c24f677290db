"""The replica: a MySQL or MariaDB server that is kept equal to the mirror."""

from connector.foundation.errors.code import ErrorCode, configuration_error, frame, transient_error

NO_URL = configuration_error(
    "M901",
    "replica.url does not name the server that is to be kept equal to the mirror",
    "set it to mysql://user@host:port/, and the password in STREAM_JOB_REPLICA__PASSWORD",
    cause="The command `replica` writes to the server of the section [replica].",
)
WRONG_URL = frame("replica.url: {why}", was="M902")
OTHER_MIRROR = ErrorCode(
    "M904",
    "{server}: the replica {name!r} was made from the mirror at {mirror}, not from {path}",
    "use another `name` in the configuration, or delete the rows of this replica in "
    "_cdc.replica and _cdc.replica_tables, and its tables",
    cause="The tables at the target belong to the mirror that they were loaded from.",
    example={"name": "shop", "mirror": "/data/old"},
)
TAKEN_OVER = ErrorCode(
    "M905",
    "{server}: another process has taken over the replica {name!r}",
    "stop one of the two; nothing was applied twice",
    cause="Each transaction of the replica begins with its row in _cdc.replica, which names the "
    "process that applies.",
    example={"name": "shop"},
)
OLDER_CUT = ErrorCode(
    "M906",
    "{server}: the replica has cut {applied} of the mirror at {path}, whose newest cut {number} is "
    "older",
    "if the mirror was made again, delete the rows of this replica in _cdc.replica and "
    "_cdc.replica_tables, and its tables",
    cause="A replica never goes back: its readers have seen what the older cut lacks.",
    example={"applied": 42, "number": 3},
)
_AGAIN = "DROP TABLE it at the target: then the replica makes it and loads it"
UNFIT_TABLE = ErrorCode(
    "M907",
    "{server}: the table {table} does not fit the mirror:{problems:lines}",
    f"ALTER TABLE it, or {_AGAIN}",
    cause="A table that exists at the target is used if it has the same primary key, and if its "
    "columns hold every value of the mirror.",
    example={
        "problems": ("price: it is decimal with 1 decimals, and the mirror has decimal(10,2)",)
    },
)
NOT_EMPTY = ErrorCode(
    "M908",
    "{server}: the table {table} has rows, and was not loaded by this replica",
    f"TRUNCATE it, or {_AGAIN}",
    cause="The replica loads a table before it applies changes to it. It does not delete rows that "
    "are not its own.",
)
UNFIT_VALUE = ErrorCode(
    "M909",
    "{server}: a column of the table {table} does not hold a value of the mirror (error {number})",
    f"compare the columns with those of the source, and ALTER TABLE it, or {_AGAIN}",
    cause="The target runs in strict mode, so that a value is stored as it is, or not at all. "
    "Nothing of the cut was applied. The text of the server is not shown: it has the value.",
    example={"number": 1264},
)
DUPLICATE = ErrorCode(
    "M910",
    "{server}: two rows of the table {table} have the same value in a unique key (error {number})",
    "look for unique keys that the source does not have, for collations that differ, and for rows "
    f"that another program has written; or {_AGAIN}",
    cause="All rows that a cut replaces are deleted before new ones are inserted, so the unique "
    "keys of the source hold. Nothing of the cut was applied.",
    example={"number": 1062},
)
RIGHTS = ErrorCode(
    "M911",
    "{server}: the account may not do what the replica needs (error {number}): {said}",
    "grant it; docs/replica.md has a list",
    cause="The replica writes rows, reads and alters tables, and keeps its own in _cdc.",
    example={"number": 1142, "said": "DELETE command denied to user 'copy'@'%' for table 'orders'"},
)
PACKET = ErrorCode(
    "M912",
    "{server}: a row of the table {table} is larger than the server takes (error {number})",
    "raise max_allowed_packet at the target to that of the source; hexadecimal digits of binary "
    "values need twice as much",
    cause="A row is one part of a statement. Nothing of the cut was applied.",
    example={"number": 1153},
)
REFUSED = ErrorCode(
    "M913",
    "{server}: the server refuses a statement for {table} (error {number})",
    f"look at its log and its settings; if the table is damaged, {_AGAIN}",
    cause="The number is that of the server's error. Nothing of the cut was applied. The text of "
    "the server is not shown: it may have values.",
    example={"number": 1146},
)
SAME_TABLE = ErrorCode(
    "M915",
    "{server}: {names} would both be the table {table}",
    'set replica.database to a name with {{database}} in it, such as "copy_{{database}}"; if only '
    "the case of letters differs, give one of them another `name` in [[tables]]",
    cause="Unless the name has that of the source's database, tables of several databases are in "
    "one database of the target. With lower_case_table_names = 1 or 2, the target takes names that "
    "differ in case for the same.",
    example={"names": ("erp.orders", "shop.orders")},
)
COLLISION = transient_error(
    "M914",
    "{server}: another transaction holds rows that the replica writes (error {number})",
    "end programs that write to these tables; the cut is applied again",
    cause="The server has ended the transaction because of a deadlock. Nothing of the cut was "
    "applied.",
    example={"number": 1213},
)
