"""Arguments of the reader of a server's log, and options of Spark's data source."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

OWN_SCHEMA = ErrorCode(
    "C341",
    "mysql_binlog has a schema of its own",
    "leave out schema(), and use select()",
    end=End.CONFIGURATION,
    cause="The columns of the data source do not differ from one table to another.",
)
NO_OPTION = ErrorCode(
    "C342",
    "mysql_binlog has no option {option}",
    "there are {known}",
    end=End.CONFIGURATION,
    cause="An option of the data source is misspelt.",
    example={"option": "tabels", "known": ("path", "tables")},
)
NO_PATH = ErrorCode(
    "C343",
    "mysql_binlog needs a path",
    "give a file, a folder or a glob to load()",
    end=End.CONFIGURATION,
    cause="The method load() was called without a path.",
)
NOT_A_FILE = ErrorCode(
    "C344",
    "{path}: only files are read",
    "mount them on the driver and the workers",
    end=End.CONFIGURATION,
    cause="The path has the scheme of a file system that only Spark reads.",
    example={"path": "s3://logs/binlog.000042"},
)
NO_LOG = ErrorCode(
    "C345",
    "{path}: there is no log",
    "give the path of a file, of a folder of logs, or a glob",
    end=End.CONFIGURATION,
    cause="No file has a name that the path stands for.",
    example={"path": "/logs/binlog.*"},
)

START_FORM = ErrorCode(
    "C213",
    "start {start!r} is not {reason}",
    end=End.CONFIGURATION,
    cause="A start point is earliest, latest, gtid:SET or position:FILE:POSITION.",
)
START = START_FORM.because(
    "earliest, latest, gtid:SET or position:FILE:POSITION; write one of these", was="C211"
)
START_POSITION = START_FORM.because(
    "position:FILE:POSITION; write it like position:binlog.000042:4", was="C212"
)
