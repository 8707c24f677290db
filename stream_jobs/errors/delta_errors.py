"""Delta tables of a mirror: their storage, their log, their files."""

from connector.foundation.errors.code import failure, table_failure

DEFECT = table_failure(
    "M519",
    "{reason}",
    "this is an error of the job: please report it",
    cause="The job met something that its code does not expect.",
)
PATH_OUTSIDE = DEFECT.because("the path {path!r} is not below the mirror's folder", was="M501")
FILES_GONE = DEFECT.because(
    "{path}: the commit names files that are not in the current version: {files}", was="M512"
)

STORAGE_FAILED = failure(
    "M502",
    "{path}: {said}",
    "check that the folder of the mirror exists, that the job may write there, and its free space",
    cause="A file of the mirror cannot be read, written or deleted: there is no space left, the "
    "account may not do it, or the storage does not answer.",
    example={"path": "/data/mirror/erp/orders/_delta_log", "said": "Permission denied"},
)
_TABLE = "erp/orders"
COMMIT_CONFLICT = failure(
    "M503",
    "{path}: another writer has committed version {version}",
    "the job reads the table again and repeats its changes; if this goes on, two jobs write to it, "
    "or, in a shared mirror, others commit during a long rewrite: stop their jobs meanwhile",
    cause="Each version of a table has one commit, and another program was faster.",
    example={"path": _TABLE, "version": 42},
)
_REBUILD = "let the mirror be made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`"
_DAMAGED = f"restore the file from a backup and resume the table, or {_REBUILD}"

MIRROR_DAMAGED = table_failure(
    "M518",
    "{reason}",
    "restore the file from a backup and resume the table, or let the mirror be made again: "
    "`binlog-connector-mirror resume CONFIG TABLE --rebuild`",
    cause="A file of the mirror was deleted, changed or lost in part.",
)
VERSION_MISSING = MIRROR_DAMAGED.because(
    "{path}: version {version} is missing in _delta_log", was="M504"
)
LOG_DAMAGED = MIRROR_DAMAGED.because("{file} cannot be read: {why}", was="M505")
FILE_MISSING = MIRROR_DAMAGED.because("{file} does not exist", was="M509")
FILE_DAMAGED = MIRROR_DAMAGED.because("{file} cannot be read: {why}", was="M510")
VECTOR_DAMAGED = MIRROR_DAMAGED.because(
    "{file}: the deletion vector at byte {offset} is not what the log says", was="M511"
)
NO_METADATA = MIRROR_DAMAGED.because("{path}: the log has no columns or no protocol", was="M513")

FOLDER_GONE = table_failure(
    "M527",
    "{folder}: the folder is not there any more",
    "put it back, and resume the table (`binlog-connector-mirror resume`); if it is lost, let the "
    "connector copy the table (`binlog-connector snapshot`), and then let the mirror be made "
    "again: `resume CONFIG TABLE --rebuild`",
    cause="Somebody has moved or deleted the folder of a mirror, or of its database, while the job "
    "ran. The job makes nothing in its place: that would be lost when the folder comes back.",
    example={"folder": "/data/mirror/erp/orders"},
)

FEATURES_UNKNOWN = table_failure(
    "M506",
    "{path}: the table uses features of Delta that this job does not know: {features}",
    "remove them: ALTER TABLE ... DROP FEATURE",
    cause="Another program changed the table. A writer must obey all features of a table.",
    example={"path": _TABLE, "features": ["rowTracking"]},
)
FEATURES_MISSING = table_failure(
    "M526",
    "{path}: the table has lost features of Delta that this job writes with: {features}",
    "add each one again: ALTER TABLE ... SET TBLPROPERTIES ('delta.feature.NAME' = 'supported')",
    cause="Another program has dropped them. Without them, readers would see dead rows, or take "
    "one column for another.",
    example={"path": _TABLE, "features": ["deletionVectors"]},
)
OTHER_PROTOCOL = table_failure(
    "M507",
    "{path}: the table has versions {versions} of Delta's protocol, not 3 and 7",
    "delete the folder of the table, and have it copied again",
    cause="Another program made the table, or an older version of this job.",
    example={"path": _TABLE, "versions": (1, 2)},
)
COLUMN_UNKNOWN = table_failure(
    "M508",
    "{path}: column {column} cannot be read: {said}",
    "drop the column",
    cause="Another program added a column of a type that a mirror does not have.",
    example={"path": _TABLE, "said": "'variant'"},
)
COLUMNS_GONE = table_failure(
    "M525",
    "{path}: the table has no columns {columns} any more, which its source has",
    "give them their names again (ALTER TABLE ... RENAME COLUMN), or let the mirror be made again: "
    "`binlog-connector-mirror resume CONFIG TABLE --rebuild`",
    cause="Another program has renamed or dropped columns of the mirror. Their new values would "
    "be lost.",
    example={"path": _TABLE, "columns": ["price"]},
)
PROPERTY_WRONG = table_failure(
    "M514",
    "{path}: the property {name} is {value!r}, which is not understood",
    "write it like Delta: 'interval 7 days', or a number",
    cause="A property of a table has a form that neither the job nor Delta reads.",
    example={"path": _TABLE, "name": "delta.logRetentionDuration", "value": "a week"},
)
OVERWRITES = failure(
    "M515",
    "the bucket {bucket} overwrites objects that a put with If-None-Match must not replace",
    "use a server that knows conditional writes, such as S3",
    cause="Without this header, two jobs could overwrite commits of each other.",
    example={"bucket": "lake"},
)
NO_RIGHT = failure(
    "M523",
    "{path}: the storage does not let the job {action} this: {said}",
    "give the account of the job {right}",
    cause="A mirror is written, read, listed and cleaned up, and the account may not do all of it.",
    example={
        "path": "gs://lake/mirror/_binlog-connector-1f0e",
        "action": "delete",
        "right": "storage.objects.delete",
        "said": "AccessDenied: Access denied.",
    },
)
NO_LOGIN = failure(
    "M524",
    "{path}: the storage does not accept the credentials: {said}",
    "correct or renew {variables} in the environment of the driver and of each worker",
    cause="A key is wrong, a token or a signature has expired, or there is none.",
    example={
        "path": "gs://lake/mirror",
        "said": "AuthenticationRequired: Authentication required.",
        "variables": "GOOGLE_APPLICATION_CREDENTIALS",
    },
)
FILE_UNREADABLE = table_failure(
    "M517",
    "{file} cannot be read: {said}",
    f"let the account of the job read it; if the disk has lost it, {_DAMAGED}",
    cause="The account of the job may not read this file, the disk has lost a part of it, or it "
    "is no file. The storage itself answers.",
    example={"said": "Permission denied"},
)
HDFS_LOGIN = failure(
    "M521",
    "{path}: HDFS wants a login with {said}; the job gives the name of its user alone",
    "let the job write to a cluster with simple authentication, or to S3",
    cause="The job has no Kerberos.",
    example={"path": "webhdfs://namenode:9870/lake/t", "said": "Negotiate"},
)
NO_PARTITION = table_failure(
    "M516",
    "{path}: column {column} cannot partition the table",
    "choose a column of integers, dates or decimals, or one of texts that are never empty",
    cause="Delta stores values of partitions as texts, and an empty text there means NULL.",
    example={"path": _TABLE, "column": "status"},
)
FEED_NAMES = table_failure(
    "M522",
    "{path}: the change data feed has columns of its own with the names of {columns}",
    "give the columns other names, or switch the feed off: ALTER TABLE ... SET TBLPROPERTIES "
    "('delta.enableChangeDataFeed' = false)",
    cause="Readers of the feed add _change_type, _commit_version and _commit_timestamp to the "
    "columns of the table.",
    example={"path": _TABLE, "columns": ["_change_type"]},
)
