"""R800: commands that speak with a running pipeline, and a pipeline that is stopped hard."""

from __future__ import annotations

from connector.errors.code import End, ErrorCode

STOPPED_HARD = ErrorCode(
    "R801",
    "stopped before the batch was committed",
    "it is read again by the next run",
    cause="A second SIGTERM or Ctrl-C came while the batch was delivered. The exit code is 130.",
)
NOT_IN_QUARANTINE = ErrorCode(
    "R811",
    "{what}: nothing of it is in the quarantine of pipeline {pipeline}",
    "`quarantine list` shows what is kept back",
    end=End.CONFIGURATION,
    cause="The name is misspelt, or all of the table's changes were carried.",
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
    "{table}: all of database {database} is kept back since {since}, because of a statement, and "
    "which rows it changed is not in the log",
    "`binlog-connector snapshot CONFIG {table}` copies the table anew and lifts the fence",
    end=End.CONFIGURATION,
    cause=(
        "A statement changed rows of a database, and the log has the statement alone. What it "
        "changed cannot be written again."
    ),
    example={"table": "erp.orders", "database": "erp", "since": "binlog.000042:1187"},
)
COPY_HAS_FAILED = ErrorCode(
    "R815",
    "{table}: a copy of it has failed, and the rows that it did not write are missing",
    "`binlog-connector snapshot {config} {table}` copies the table anew",
    cause="A fence ended a copy of the table, and a replay brings changes alone.",
    example={"table": "erp.orders", "config": "connector.toml"},
)
NOT_TAKEN_UP = ErrorCode(
    "R821",
    "no pipeline {pipeline} has taken the request up",
    "it is kept for a week, and done when one runs (binlog-connector run CONFIG)",
    end=End.COMMAND,
    cause="The request was written, and no pipeline of this name has read it: none runs.",
    example={"pipeline": "shop"},
)
COPY_NOT_TAKEN_UP = ErrorCode(
    "R822",
    "pipeline {pipeline} has not taken the request up within {seconds:g} seconds",
    "it is kept for a week: a pipeline that delivers a large transaction does it then, one that "
    "does not run at its next start (binlog-connector run CONFIG)",
    end=End.COMMAND,
    cause="A running pipeline looks at requests between two source transactions.",
    example={"pipeline": "shop", "seconds": 15.0},
)
COPY_IS_SILENT = ErrorCode(
    "R823",
    "pipeline {pipeline} has told nothing of the copy for {seconds:g} seconds",
    "look at its log whether it pauses, delivers a large transaction, or does not run; the copy "
    "goes on when it does",
    end=End.LOGGED,
    cause="A copy that goes on tells how far it is after each chunk.",
    example={"pipeline": "shop", "seconds": 60.0},
)
