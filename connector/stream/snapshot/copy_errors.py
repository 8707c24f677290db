"""Copies of tables."""

from connector.foundation.errors import code

NOT_FOLLOWED = code.configuration_error(
    "R301",
    "{pattern}: no followed table matches",
    "add it to {source.tables} (and look at {source.exclude_tables}), and restart the pipeline",
    cause="Only tables that the stream follows can be copied: others would miss later changes.",
    example={"pattern": "erp.*"},
)
_ACCOUNT = "TO the account of {source.user}"
NO_TABLE = code.configuration_error(
    "R302",
    "{pattern}: {server} has no such table that the account may read",
    f"check the name, or GRANT SELECT on it {_ACCOUNT}",
    cause="A server does not show tables that an account may not read.",
    example={"pattern": "erp.orders"},
)
NONE_FOLLOWED_YET = code.notice(
    "R300",
    "no table is followed yet: {source.tables} matches none that the account may see",
    "look at the names in it, and at the grants",
    cause="A pipeline may start before its tables are created. It copies each of them as it comes.",
)
NOT_IN_TOPICS = code.notice(
    "R309",
    'snapshot.to = "mirror": the rows of the first copies are in no topic, and consumers of the '
    "topics other than the Spark job get only what changes from now on",
    "set first_load.url in the configuration of the Spark job, or, for other consumers, "
    'snapshot.to = "topics"',
    cause="The Spark job reads these rows from the source itself.",
)
NONE_FAILED = code.configuration_error(
    "R305",
    "{pattern}: no copy of such a table has failed",
    "look at `binlog-connector status`",
    cause="Only the failure of a copy can be dismissed.",
    example={"pattern": "erp.*"},
)
NAME_MATCHES_NONE = code.notice(
    "R306",
    "{source.tables} names {pattern}, and the account sees no such table",
    "look at the name, and at the grants",
    cause="The name may be misspelt, or the table is created later: then its rows come as changes.",
    example={"pattern": "erp.ordrs"},
)
MAY_NOT_READ = code.table_error(
    "R303",
    "{server}: table {table}: the account may not read it",
    f"GRANT SELECT ON {{grant}} {_ACCOUNT}",
    cause="The server refused a SELECT from the table.",
    example={"grant": "`erp`.`orders`"},
)
CONDITION_REFUSED = code.table_error(
    "R304",
    "{table}: the server refuses --where: {why:what}",
    "correct it",
    cause="The server was asked for a row that meets the condition, and answered with an error.",
    example={"why": "error 3854: Cannot convert string to date"},
)
COPY_NOT_FOLLOWED = code.table_error(
    "R311",
    "copy of table {table}: it is not followed",
    "add it to {source.tables}, and restart the pipeline",
    cause="The pipeline follows other tables than the command that asked for the copy.",
)
COPY_DENIED = code.table_error(
    "R312",
    "{server}: table {table} cannot be copied: the account may not read it",
    f"GRANT {{rights}} ON `{{database}}`.* {_ACCOUNT}",
    cause="The server refused a SELECT or LOCK TABLES.",
    example={"rights": ["SELECT"]},
)
CHANGES = code.table_error(
    "R313",
    "copy of table {table}: {why:what}",
    "run `binlog-connector snapshot` for it once it no longer changes",
    cause="The table was different each time that it was read. A tool may be changing it again "
    "and again.",
    example={"why": "it has other columns, or another key"},
)
_CHANGED = "A copy reads a table as it was planned. The table has changed since."
OTHER_TABLE_NOW = code.notice("R314", "it has other columns, or another key", cause=_CHANGED)
NO_KEY = code.table_error(
    "R315",
    "copy of table {table}: without a key, consumers cannot know which row replaces which",
    "copy all of it, without --where",
    cause="Rows that meet a condition are written over those that consumers have, by their key.",
)
SLOW = code.transient_error(
    "R316",
    "copy of table {table}: the server needs more than {seconds:g} seconds for one row",
    "raise {snapshot.statement_seconds_max}",
    cause="Each SELECT of a copy has a time limit, and the server did not even send one row.",
)
SLOW_CONDITION = code.table_error(
    "R317",
    "copy of table {table}: the server needs more than {seconds:g} seconds for one row",
    "raise {snapshot.statement_seconds_max}, or choose a condition that an index answers",
    cause="Each SELECT of a copy has a time limit. Without an index, the server must look at many "
    "rows to find one that meets the condition.",
)
ENDED = code.table_error(
    "R318",
    "the copy ended, because the table was dropped or renamed meanwhile",
    "ask for it by the name that it has now",
    cause="The state of a copy belongs to the name of its table, and is dropped with it.",
)
STOPPED = code.table_error(
    "R325",
    "the copy was stopped by a signal",
    "`binlog-connector snapshot` copies the table again",
    cause="Consumers lack the rows that were not copied yet.",
)
NOT_LOCKED = code.notice(
    "R321",
    "table {table} could not be locked in time, because a transaction uses it",
    cause="A table without a key is read at once, as it is at one position of the log. It is "
    "locked for a moment to find this position. The copy tries again.",
)
LOCKED = code.notice(
    "R328",
    "table {table} could not be read in time: another session holds a lock on it, or a statement "
    "on it waits for one",
    "look in SHOW PROCESSLIST for LOCK TABLES, for transactions that use the table, and for "
    "statements that wait for a metadata lock",
    cause="A copy waits only some seconds for a lock. It goes on with other tables, and tries "
    "again later.",
)

KEYS_UNUSABLE = code.table_error(
    "R308",
    "copy of table {table}: rows cannot be taken back by their keys, because {reason}",
    "copy all of the table: `binlog-connector snapshot CONFIG {table}`",
    cause="A request may list keys of rows that may be gone, and these must be compared exactly.",
)
KEY_TYPE = KEYS_UNUSABLE.because("of column {column}", was="R322")
MESSAGE_KEY = KEYS_UNUSABLE.because(
    "{envelope.message_keys} gives its records other keys", was="R324"
)

NOT_A_KEY = code.table_error(
    "R323",
    "copy of table {table}: keys[{place}] of the request is not the key of a record of it",
    "ask again with the keys of records as they are in the topic",
    cause="A request may list keys of rows that may be gone. Each is compared with the bytes of "
    "records' keys, so it must be the text that the connector would write. The table may have got "
    "another key since. No row was taken back.",
    example={"place": 0},
)
THREADS_RUNNING = code.notice(
    "R331",
    "{found:g} running threads, and {limit:g} are the limit",
    cause="Reading of tables holds its pace near this limit, and halves it beyond. Without "
    "snapshot.threads_running_max, the limit is 25, or half more than what is usual at this "
    "source.",
    example={"found": 40.0, "limit": 25.0},
)
REPLICA_LAGS = code.notice(
    "R333",
    "the source is a replica and {found:g} s late, and {limit:g} s are the limit",
    cause="Reading of tables takes from a replica what it needs to catch up. So reading holds its "
    "pace while the lag is near the limit or falls, and halves it beyond.",
    example={"found": 14.0, "limit": 10.0},
)
SLOW_ROWS = code.notice(
    "R334",
    "a row takes {found:.1f} times as long as at best, and {limit:g} times are the limit",
    cause="Rows that take longer than before show that the source has more to do. Reading of "
    "tables holds its pace near the limit, and halves it beyond. At the least pace, what a row "
    "takes becomes what later rows are compared with.",
    example={"found": 5.2, "limit": 4.0},
)
BESIDE_OTHERS = code.notice(
    "R335",
    "others run {found:.1f} statements at a time, {rate:.0f} a second, and beside them {limit:g} "
    "reads are the most",
    "if the source has room for more, let the account read performance_schema, if it may not yet "
    "(grants.sql has the statement), or set {snapshot.pace} to full",
    cause="Beside others, half a read at a time is the most, until performance_schema shows that "
    "their statements take no longer while more is read. A read has short statements there, with "
    "rests between them. Threads that run all the time, such as those that send the log to "
    "replicas, do not count.",
    example={"found": 0.8, "rate": 1200.0, "limit": 0.5},
)
PAUSE_WANTED = code.notice(
    "R332",
    "{snapshot.pause_query} returns {value:g}",
    cause="Copies pause while the first column of the query is above 0.",
    example={"value": 1.0},
)
ROWS_DELETED = code.notice(
    "K126",
    "topic {topic}, which had the rows of table {table}, is gone or was created again",
    "nothing: the table is copied again",
    cause="Kafka has records of the table's columns, so rows of it were written, too. Somebody has "
    "deleted the topic.",
)
PAUSE_QUERY = code.configuration_error(
    "C605",
    "{server}: {snapshot.pause_query}: its first column is not a number",
    "write a query that returns 0 while reading may go on",
    cause="Copies pause while the first column of the query is above 0.",
)
SIGNALS_NOT_FOLLOWED = code.configuration_error(
    "C607",
    "signals.table names {table}, which is not followed",
    "name it in {source.tables}",
    cause="The stream brings the rows of followed tables alone, and signals are such rows.",
)
