"""R400: changes that are kept back, and the results of a replay."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_COPY_ANEW = "`binlog-connector snapshot CONFIG {table}` copies the table again and lifts the fence"
_TABLE = {"table": "erp.orders"}
_ORDER = "Later changes must not overtake it."

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
