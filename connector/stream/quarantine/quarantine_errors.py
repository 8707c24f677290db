"""Changes that are kept back, and the results of a replay."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode, Scope

_COPY_ANEW = "`binlog-connector snapshot CONFIG {table}` copies the table again and lifts the fence"

_TABLE = {"table": "erp.orders"}

KEPT_BACK = ErrorCode(
    "R401",
    "{why}",
    "`binlog-connector quarantine show CONFIG {table}` shows what is kept back, " + _COPY_ANEW,
    end=End.LOGGED,
    frame=True,
    cause="A change that cannot be published is kept in quarantine, and the stream goes on.",
    example={"why": "a row was logged without column price", **_TABLE},
)

DATABASE_KEPT_BACK = ErrorCode(
    "R402",
    "{why}",
    "`binlog-connector quarantine show CONFIG {table}` shows what is kept back, `binlog-connector "
    "snapshot CONFIG {table}` copies the tables of the database again and lifts the fence for each",
    end=End.LOGGED,
    frame=True,
    cause="A change that cannot be published is kept in quarantine, and the stream goes on.",
    example={"why": "UPDATE in database erp cannot be published without loss", "table": "erp.*"},
)

_ORDER = "Later changes must not overtake it."

FOLLOWS = ErrorCode(
    "R411",
    "it must wait for an earlier change that is kept back",
    end=End.LOGGED,
    cause=f"The change itself can be published, but it comes after one that is kept back. {_ORDER}",
)

KEY_CHANGED = ErrorCode(
    "R412",
    "the key of {table} was changed while changes of some keys are kept back",
    end=End.LOGGED,
    cause=f"The keys cannot be compared any more, so the whole table is kept back. {_ORDER}",
    example=_TABLE,
)

REPLAY_WHOLE = ErrorCode(
    "R421",
    "the whole table is fenced",
    "replay it without a key",
    end=End.LOGGED,
    cause=f"A replay of one key would leave out changes of the table that came before. {_ORDER}",
)

REPLAY_OTHER_KEY = ErrorCode(
    "R422",
    "a change of it also belongs to another key that is fenced",
    "replay the whole table",
    end=End.LOGGED,
    cause=f"An UPDATE of a key changes two keys, and both are kept back. {_ORDER}",
)

REPLAY_STATEMENT = ErrorCode(
    "R423",
    "the log does not say which rows a statement changed, so they cannot be written again",
    _COPY_ANEW,
    end=End.LOGGED,
    cause="The log holds the text of the statement, but not its rows.",
    example=_TABLE,
)

REPLAY_COPIED = ErrorCode(
    "R424",
    "it keeps back a row of a copy, and the log has no change of this row",
    "once the row can be published, " + _COPY_ANEW,
    end=End.LOGGED,
    cause="A replay reads changes, and this row came from a SELECT.",
    example=_TABLE,
)

REPLAY_WITHHELD = ErrorCode(
    "R426",
    "the quarantine does not hold the rows of {table}",
    _COPY_ANEW,
    end=End.LOGGED,
    cause=(
        "Records leave out or mask columns of the table, and the quarantine would show them; or "
        "the description of the table does not fit into a record. So only the fence is kept."
    ),
    example=_TABLE,
)

REPLAY_MISSING = ErrorCode(
    "R425",
    "{rows} of the changes that it keeps back are not in the quarantine",
    _COPY_ANEW,
    end=End.LOGGED,
    cause="Kafka deletes records of the quarantine after the retention time of the topic.",
    example={"rows": 3, **_TABLE},
)

_CAUSE = (
    "A newer version wrote the record, or another program did. The connector never ignores "
    "what it does not understand."
)

_WHY = {"why": "unexpected keyword argument 'new'"}

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

WHOLE_TABLE_FENCED = ErrorCode(
    "R319",
    "copy of table {table}: the whole table is kept back ({why})",
    "once the cause is gone, `binlog-connector snapshot CONFIG {table}` copies it again and "
    "lifts the fence",
    cause="No row of a table may overtake the changes that are kept back.",
    example={**_TABLE, "why": "column price has type unknown"},
    scope=Scope.TABLE,
)

KEY_CHANGED_IN_COPY = ErrorCode(
    "R320",
    "copy of table {table}: the whole table is kept back, because its key was changed while "
    "changes of some keys are kept back",
    "once the cause is gone, `binlog-connector snapshot CONFIG {table}` copies it again and "
    "lifts the fence",
    cause="Keys that are kept back cannot be compared with keys of other columns.",
    example=_TABLE,
    scope=Scope.TABLE,
)

NOT_KEPT_BACK = ErrorCode(
    "R812",
    "{table}: nothing of it is kept back",
    "`quarantine list` shows what is",
    end=End.CONFIGURATION,
    cause="The table has no fence: it was lifted, or there never was one.",
    example={"table": "erp.orders"},
)

KEY_NOT_KEPT_BACK = ErrorCode(
    "R813",
    "{table}, key {key}: nothing of it is kept back",
    "`quarantine list` shows what is",
    end=End.CONFIGURATION,
    cause="The key has no fence: it was lifted, or there never was one.",
    example={"table": "erp.orders", "key": '{"id":1}'},
)

DATABASE_FENCED = ErrorCode(
    "R814",
    "{table}: all of database {database} is kept back since {since}: a statement changed rows "
    "there, and the log does not say which",
    "`binlog-connector snapshot CONFIG {table}` copies the table again and lifts the fence",
    end=End.CONFIGURATION,
    cause=(
        "A statement changed rows of a database, and the log has only its text. So the "
        "rows cannot be written again."
    ),
    example={"table": "erp.orders", "database": "erp", "since": "binlog.000042:1187"},
)
