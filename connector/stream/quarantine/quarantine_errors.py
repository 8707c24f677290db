"""Changes that are kept back, and the results of a replay."""

from connector.foundation.errors import code

KEPT_BACK = code.frame(
    "{why}",
    "`binlog-connector quarantine show CONFIG {table}` shows what is kept back, "
    "`binlog-connector snapshot CONFIG {table}` copies the table again and lifts the fence",
    was="R401",
)
DATABASE_KEPT_BACK = code.frame(
    "{why}",
    "`binlog-connector quarantine show CONFIG {table}` shows what is kept back, "
    "`binlog-connector snapshot CONFIG {table}` copies the tables of the database again and "
    "lifts the fence for each",
    was="R402",
)
_ORDER = "Later changes must not overtake it."
FOLLOWS = code.notice(
    "R411",
    "it must wait for an earlier change that is kept back",
    cause=f"The change itself can be published, but it comes after one that is kept back. {_ORDER}",
)
KEY_CHANGED = code.notice(
    "R412",
    "the key of {table} was changed while changes of some keys are kept back",
    cause=f"The keys cannot be compared any more, so the whole table is kept back. {_ORDER}",
)
REPLAY_WHOLE = code.notice(
    "R421",
    "the whole table is fenced",
    "replay it without a key",
    cause=f"A replay of one key would leave out changes of the table that came before. {_ORDER}",
)
REPLAY_OTHER_KEY = code.notice(
    "R422",
    "a change of it also belongs to another key that is fenced",
    "replay the whole table",
    cause=f"An UPDATE of a key changes two keys, and both are kept back. {_ORDER}",
)

REPLAY_IMPOSSIBLE = code.notice(
    "R427",
    "{reason}",
    "{once}`binlog-connector snapshot CONFIG {table}` copies the table again and lifts the fence",
    cause="A replay writes changes as the log has them, and the quarantine does not have these so.",
)
REPLAY_STATEMENT = REPLAY_IMPOSSIBLE.because(
    "the log does not say which rows a statement changed, so they cannot be written again",
    once="",
    was="R423",
)
REPLAY_COPIED = REPLAY_IMPOSSIBLE.because(
    "it keeps back a row of a copy, and the log has no change of this row",
    once="once the row can be published, ",
    was="R424",
)
REPLAY_MISSING = REPLAY_IMPOSSIBLE.because(
    "{rows} of the changes that it keeps back are not in the quarantine", once="", was="R425"
)
REPLAY_WITHHELD = REPLAY_IMPOSSIBLE.because(
    "the quarantine does not hold the rows of {table}", once="", was="R426"
)

_CAUSE = (
    "A newer version wrote the record, or another program did. The connector never ignores "
    "what it does not understand."
)
_WHY = {"why": "unexpected keyword argument 'new'"}
FENCE = code.ErrorCode(
    "K503",
    "{record} is not a fence of this version ({why})",
    "upgrade the connector, or remove the record and copy the table again",
    cause=_CAUSE,
    example={"record": "shop.fences[0]@7", **_WHY},
)
QUARANTINE = code.ErrorCode(
    "K504",
    "a record in the quarantine is not one of this version ({why})",
    "upgrade the connector",
    cause=_CAUSE,
    example={"why": "KeyError('part')"},
)
NO_ROWS = code.ErrorCode(
    "K505",
    "{position}: {event_name} holds no rows",
    "upgrade the connector",
    cause=_CAUSE,
    example={"position": "binlog.000042:1187", "event_name": "QUERY_EVENT"},
)
QUARANTINE_ROOM = code.ErrorCode(
    "K511",
    "{position}: the description of {table} does not fit into a record of the quarantine",
    "raise {kafka.record_bytes_max}, and max.message.bytes of the topic if it existed before",
    cause="A change that is kept back is stored with the description of its table. A table of "
    "very many columns has a long description.",
    example={"position": "binlog.000042:1187"},
)

TABLE_FENCED = code.table_error(
    "R307",
    "copy of table {table}: the whole table is kept back{reason}",
    "once the cause is gone, `binlog-connector snapshot CONFIG {table}` copies it again and "
    "lifts the fence",
    cause="No row of a table may overtake the changes that are kept back, or be compared with "
    "their keys.",
)
WHOLE_TABLE_FENCED = TABLE_FENCED.because(" ({why})", was="R319")
KEY_CHANGED_IN_COPY = TABLE_FENCED.because(
    ", because its key was changed while changes of some keys are kept back", was="R320"
)

NOTHING_KEPT_BACK = code.configuration_error(
    "R816",
    "{reason}: nothing of it is kept back",
    "`quarantine list` shows what is",
    cause="The fence was lifted, or there never was one.",
)
NOT_KEPT_BACK = NOTHING_KEPT_BACK.because("{table}", was="R812")
KEY_NOT_KEPT_BACK = NOTHING_KEPT_BACK.because("{table}, key {key}", was="R813")

DATABASE_FENCED = code.configuration_error(
    "R814",
    "{table}: all of database {database} is kept back since {since}: a statement changed rows "
    "there, and the log does not say which",
    "`binlog-connector snapshot CONFIG {table}` copies the table again and lifts the fence",
    cause="A statement changed rows of a database, and the log has only its text. So the rows "
    "cannot be written again.",
    example={"since": "binlog.000042:1187"},
)
