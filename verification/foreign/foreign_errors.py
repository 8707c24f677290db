"""`verify --table`, which compares tables of any program with their source."""

from connector.foundation.errors.code import End, ErrorCode, configuration_error

TARGET_FORM = configuration_error(
    "V141",
    "--table {text}: {why}",
    "write DATABASE.TABLE=KIND:PLACE, such as shop.orders=delta:/lake/orders; the kinds are "
    "{kinds}",
    cause="A table of the source and the table that was made of it are named together.",
    example={"text": "shop.orders", "why": "there is no `=`", "kinds": ["delta", "iceberg"]},
)
TABLES_FILE = configuration_error(
    "V142",
    "--tables {path}: {why}",
    "write a [[tables]] for each table, with table and target; docs/verify.md has an example",
    cause="The file names the tables that are compared.",
    example={"path": "audit.toml", "why": "tables.0.target: Field required"},
)
SERVER_FORM = configuration_error(
    "V151",
    "{target} names no table of a server",
    "write {form}",
    cause="A table of a server is named by the URL of the server, its database and its name.",
    example={
        "target": "mysql://audit@db2/orders",
        "form": "mysql://USER:PASSWORD@HOST:PORT/DATABASE.TABLE",
    },
)
MAPPING_FORM = configuration_error(
    "V143",
    "{target}: {why}",
    "name columns as the source and the target have them, and forms as the report does",
    cause="The choices for columns do not fit the tables.",
    example={"target": "delta:/lake/orders", "why": "the source has no column prize"},
)
NO_TARGET = ErrorCode(
    "V144",
    "there is no table at {target}",
    "look at the name, and whether this user can read it",
    end=End.COMMAND,
    cause="The place that was named has no Delta log, no metadata of Iceberg, no Parquet files, "
    "or no table of this name.",
    example={"target": "delta:/lake/orders"},
)
OTHER_SCHEMAS = ErrorCode(
    "V145",
    "the files of {target} have columns of types that are not one: {why}",
    "name a folder with the files of one table",
    end=End.COMMAND,
    cause="All files of a folder are read as one table.",
    example={"target": "parquet:/lake/orders", "why": "Unable to merge: Field id"},
)
NO_KEY = ErrorCode(
    "V146",
    "table {table}: {why}",
    "name the columns in the file of --tables",
    end=End.COMMAND,
    cause="Rows are found by the primary key of the source, so each of its columns must be in the "
    "target.",
    example={"why": "the target has no column for id of the key"},
)
LOG_NOT_ROWS = ErrorCode(
    "V147",
    "{server}: binlog_format is {format}, so the log cannot say which values rows had",
    "set binlog_format = ROW",
    cause="The log of the source is the witness: a row differs only if it never had the value of "
    "the target.",
    example={"server": "source 127.0.0.1:3306", "format": "STATEMENT"},
)
TABLE_CHANGED = ErrorCode(
    "V148",
    "table {table} was changed by {statement} while it was compared, or a moment before",
    "compare it again",
    end=End.COMMAND,
    cause="Rows before and after such a statement have other columns. With --certificate, this is "
    "also said if it was committed within --lag before.",
    example={"statement": "ALTER TABLE"},
)
COLUMN_GONE = ErrorCode(
    "V149",
    "{target}: the column {column} is gone, or has another type",
    "compare it again",
    end=End.COMMAND,
    cause="The columns of the target changed while it was compared.",
    example={"target": "delta:/lake/orders"},
)
FEATURES = ErrorCode(
    "V150",
    "{target}: this program cannot read {features}",
    "compare a copy of the table without them",
    cause="The table uses features or types of its format that a reader has to know.",
    example={"target": "delta:/lake/orders", "features": ["v2Checkpoint"]},
)
SNAPSHOT_GONE = ErrorCode(
    "V178",
    "{target}: its newest metadata do not have the snapshot {snapshot}",
    "keep snapshots for longer",
    end=End.COMMAND,
    cause="A program has expired the snapshot.",
    example={"target": "iceberg:/lake/orders", "snapshot": 3055729675574597004},
)
TARGET_AWAY = ErrorCode(
    "V181",
    "{server} does not answer: {said}",
    "look at the address, and whether the server runs",
    end=End.COMMAND,
    cause="The server of the target cannot be reached.",
    example={"server": "dwh:5432", "said": "connection refused"},
)
TARGET_LOGIN = ErrorCode(
    "V182",
    "{server} refuses the login: {said}",
    "give an account of the target in its URL",
    end=End.COMMAND,
    cause="The server of the target does not know the account, its password, or the database.",
    example={"server": "dwh:5432", "said": "password authentication failed for user audit"},
)
TARGET_RIGHTS = ErrorCode(
    "V183",
    "{target}: {said}",
    "let the account read the table: GRANT SELECT",
    end=End.COMMAND,
    cause="The account of the target may not read the table.",
    example={
        "target": "postgresql://audit@dwh/shop.public.orders",
        "said": "permission denied for table orders",
    },
)
TARGET_VALUE = ErrorCode(
    "V184",
    "{target}: a value of the column {column} cannot be read: {said}",
    "leave the column out of the comparison: skip = true in the file of --tables",
    end=End.COMMAND,
    cause="Some servers have values that no other program knows, such as the date infinity. Or the "
    "column has another type than the one of the source, such as a list for a VARCHAR.",
    example={"target": "postgresql://audit@dwh/shop.public.orders", "column": "day"},
)
TARGET_REFUSED = ErrorCode(
    "V185",
    "{target}: the server says: {said}",
    "do what the server says",
    end=End.COMMAND,
    cause="The server of the target ended a query with an error.",
    example={
        "target": "postgresql://audit@dwh/shop.public.orders",
        "said": "canceling statement due to statement timeout",
    },
)
