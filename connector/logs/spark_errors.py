"""Options of Spark's data source."""

from connector.foundation.errors.code import configuration_error

OWN_SCHEMA = configuration_error(
    "C341",
    "mysql_binlog has a schema of its own",
    "leave out schema(), and use select()",
    cause="The columns of the data source do not differ from one table to another.",
)
NO_OPTION = configuration_error(
    "C342",
    "mysql_binlog has no option {option}",
    "there are {known}",
    cause="An option of the data source is misspelt.",
    example={"option": "tabels", "known": ("path", "tables")},
)
NO_PATH = configuration_error(
    "C343",
    "mysql_binlog needs a path",
    "give a file, a folder or a glob to load()",
    cause="The method load() was called without a path.",
)
NOT_A_FILE = configuration_error(
    "C344",
    "{path}: only files are read",
    "mount them on the driver and the workers",
    cause="The path has the scheme of a file system that only Spark reads.",
    example={"path": "s3://logs/binlog.000042"},
)
NO_LOG = configuration_error(
    "C345",
    "{path}: there is no log",
    "give the path of a file, of a folder of logs, or a glob",
    cause="No file has a name that the path stands for.",
    example={"path": "/logs/binlog.*"},
)
