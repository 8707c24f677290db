"""Delta tables of a mirror: their storage, their log, their files."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode, Scope

PATH_OUTSIDE = ErrorCode(
    "M501",
    "the path {path!r} is not below the mirror's folder",
    "this is an error of the job: please report it",
    end=End.FAILED,
    cause="Names of tables are encoded in paths, so no table can leave the folder of the mirror.",
    example={"path": "erp/../../etc"},
    scope=Scope.TABLE,
)

STORAGE_FAILED = ErrorCode(
    "M502",
    "{path}: {said}",
    "check that the folder of the mirror exists, that the job may write there, and its free space",
    end=End.FAILED,
    cause=(
        "A file of the mirror cannot be read, written or deleted: there is no space left, the "
        "account may not do it, or the storage does not answer."
    ),
    example={"path": "/data/mirror/erp/orders/_delta_log", "said": "Permission denied"},
)

_TABLE = "erp/orders"

COMMIT_CONFLICT = ErrorCode(
    "M503",
    "{path}: another writer has committed version {version}",
    "the job reads the table again and repeats its changes; if this goes on, two jobs write to it",
    end=End.FAILED,
    cause="Each version of a table has one commit, and another program was faster.",
    example={"path": _TABLE, "version": 42},
)

_REBUILD = "let the mirror be made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`"

_DAMAGED = f"restore the file from a backup and resume the table, or {_REBUILD}"

VERSION_MISSING = ErrorCode(
    "M504",
    "{path}: version {version} is missing in _delta_log",
    _DAMAGED,
    end=End.FAILED,
    cause="The log must have all versions since its last checkpoint. A file of it was deleted.",
    example={"path": _TABLE, "version": 42},
    scope=Scope.TABLE,
)

LOG_DAMAGED = ErrorCode(
    "M505",
    "{file} cannot be read: {why}",
    _DAMAGED,
    end=End.FAILED,
    cause="A file of a table's log was changed, or the disk lost a part of it.",
    example={"file": f"{_TABLE}/_delta_log/00000000000000000042.json", "why": "unexpected end"},
    scope=Scope.TABLE,
)

FEATURES_UNKNOWN = ErrorCode(
    "M506",
    "{path}: the table uses features of Delta that this job does not know: {features}",
    "remove them: ALTER TABLE ... DROP FEATURE",
    end=End.FAILED,
    cause="Another program changed the table. A writer must obey all features of a table.",
    example={"path": _TABLE, "features": ["changeDataFeed"]},
    scope=Scope.TABLE,
)

OTHER_PROTOCOL = ErrorCode(
    "M507",
    "{path}: the table has versions {versions} of Delta's protocol, not 3 and 7",
    "delete the folder of the table, and have it copied again",
    end=End.FAILED,
    cause="Another program made the table, or an older version of this job.",
    example={"path": _TABLE, "versions": (1, 2)},
    scope=Scope.TABLE,
)

COLUMN_UNKNOWN = ErrorCode(
    "M508",
    "{path}: column {column} cannot be read: {said}",
    "drop the column",
    end=End.FAILED,
    cause="Another program added a column of a type that a mirror does not have.",
    example={"path": _TABLE, "column": "note", "said": "'variant'"},
    scope=Scope.TABLE,
)

FILE_MISSING = ErrorCode(
    "M509",
    "{file} does not exist",
    _DAMAGED,
    end=End.FAILED,
    cause="The log names the file. Another program deleted it, or it was lost.",
    example={"file": f"{_TABLE}/part-0192f0c1.parquet"},
    scope=Scope.TABLE,
)

FILE_DAMAGED = ErrorCode(
    "M510",
    "{file} cannot be read: {why}",
    _DAMAGED,
    end=End.FAILED,
    cause="A data file was changed, or the disk lost a part of it.",
    example={"file": f"{_TABLE}/part-0192f0c1.parquet", "why": "not a Parquet file"},
    scope=Scope.TABLE,
)

VECTOR_DAMAGED = ErrorCode(
    "M511",
    "{file}: the deletion vector at byte {offset} is not what the log says",
    _DAMAGED,
    end=End.FAILED,
    cause="The file says which rows of a data file are dead. It was changed, or is damaged.",
    example={
        "file": f"{_TABLE}/deletion_vector_0192f0c1-1111-4222-8333-444455556666.bin",
        "offset": 1,
    },
    scope=Scope.TABLE,
)

FILES_GONE = ErrorCode(
    "M512",
    "{path}: the commit names files that are not in the current version: {files}",
    "this is an error of the job: please report it",
    end=End.FAILED,
    cause="After a commit of another writer, the job repeats its changes on the new version.",
    example={"path": _TABLE, "files": ["part-0192f0c1.parquet"]},
    scope=Scope.TABLE,
)

NO_METADATA = ErrorCode(
    "M513",
    "{path}: the log has no columns or no protocol",
    _DAMAGED,
    end=End.FAILED,
    cause="The first version of a table has them, and each checkpoint.",
    example={"path": _TABLE},
    scope=Scope.TABLE,
)

PROPERTY_WRONG = ErrorCode(
    "M514",
    "{path}: the property {name} is {value!r}, which is not understood",
    "write it like Delta: 'interval 7 days', or a number",
    end=End.FAILED,
    cause="A property of a table has a form that neither the job nor Delta reads.",
    example={"path": _TABLE, "name": "delta.logRetentionDuration", "value": "a week"},
    scope=Scope.TABLE,
)

OVERWRITES = ErrorCode(
    "M515",
    "the bucket {bucket} overwrites objects that a put with If-None-Match must not replace",
    "use a server that knows conditional writes, such as S3",
    end=End.FAILED,
    cause="Without this header, two jobs could overwrite commits of each other.",
    example={"bucket": "lake"},
)

FILE_UNREADABLE = ErrorCode(
    "M517",
    "{file} cannot be read: {said}",
    f"let the account of the job read it; if the disk has lost it, {_DAMAGED}",
    end=End.FAILED,
    cause=(
        "The account of the job may not read this file, the disk has lost a part of it, or it is "
        "no file. The storage itself answers."
    ),
    example={
        "file": f"/data/mirror/{_TABLE}/_delta_log/00000000000000000042.json",
        "said": "Permission denied",
    },
    scope=Scope.TABLE,
)

HDFS_LOGIN = ErrorCode(
    "M521",
    "{path}: HDFS wants a login with {said}; the job gives the name of its user alone",
    "let the job write to a cluster with simple authentication, or to S3",
    end=End.FAILED,
    cause="The job has no Kerberos.",
    example={"path": "webhdfs://namenode:9870/lake/t", "said": "Negotiate"},
)

NO_PARTITION = ErrorCode(
    "M516",
    "{path}: column {column} cannot partition the table",
    "choose a column of integers, dates or decimals, or one of texts that are never empty",
    end=End.FAILED,
    cause="Delta stores values of partitions as texts, and an empty text there means NULL.",
    example={"path": _TABLE, "column": "status"},
    scope=Scope.TABLE,
)
