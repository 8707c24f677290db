"""R800: commands that speak with a running pipeline, and a pipeline that is stopped hard."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

STOPPED_HARD = ErrorCode(
    "R801",
    "stopped before the batch was committed",
    "it is read again by the next run",
    end=End.INTERRUPTED,
    cause="A second SIGTERM or Ctrl-C came while the batch was delivered.",
)
NOT_IN_QUARANTINE = ErrorCode(
    "R811",
    "{what}: nothing of it is in the quarantine of pipeline {pipeline}",
    "`quarantine list` shows what is kept back",
    end=End.CONFIGURATION,
    cause="The name is misspelt, or all of the table's changes were published.",
    example={"what": "erp.orders", "pipeline": "shop"},
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
DATABASE_KEPT_BACK = ErrorCode(
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
COPY_HAS_FAILED = ErrorCode(
    "R815",
    "{table}: a copy of it has failed, and the rows that it did not write are missing",
    "`binlog-connector snapshot {config} {table}` copies the table again",
    cause="A fence ended a copy of the table, and a replay brings only changes.",
    example={"table": "erp.orders", "config": "connector.toml"},
)
NOT_TAKEN_UP = ErrorCode(
    "R821",
    "no pipeline {pipeline} has read the request",
    "the request is kept for a week, and done when the pipeline runs (binlog-connector run CONFIG)",
    end=End.COMMAND,
    cause="The request was written, and no pipeline of this name has read it: none runs.",
    example={"pipeline": "shop"},
)
COPY_NOT_TAKEN_UP = ErrorCode(
    "R822",
    "pipeline {pipeline} has not read the request within {seconds:g} seconds",
    "the request is kept for a week: the pipeline does it after its current transaction, or at its "
    "next start (binlog-connector run CONFIG)",
    end=End.COMMAND,
    cause="A running pipeline looks at requests between two source transactions.",
    example={"pipeline": "shop", "seconds": 15.0},
)
COPY_IS_SILENT = ErrorCode(
    "R823",
    "pipeline {pipeline} has reported nothing about the copy for {seconds:g} seconds",
    "its log says whether it pauses, delivers a large transaction, or does not run; the copy goes "
    "on afterwards",
    end=End.LOGGED,
    cause="A running copy reports its progress after each chunk.",
    example={"pipeline": "shop", "seconds": 60.0},
)
DISMISSED_ROWS = ErrorCode(
    "R824",
    "--dismiss and --where do not go together",
    "leave one of them out",
    end=End.CONFIGURATION,
    cause="A copy of some rows that has failed is over: nobody has to dismiss it.",
)
