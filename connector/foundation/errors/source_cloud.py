"""S603 to S630: what a server of a cloud service must have, and how it is set there."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

_WHAT = "{name} is {value}, wanted {wanted}"
_LOG = {"name": "log_bin", "value": "OFF", "wanted": "ON"}
_FORMAT = {"name": "binlog_format", "value": "ROW"}
_SERVICE = "The service decides over the option file of its servers and over SET PERSIST."
_NO_LOG = "The server writes no binary log, so nothing can be followed."

RDS_PARAMETER = ErrorCode(
    "S603",
    "in the parameter group of the DB instance, set {name} to {value} (if it is static, the "
    "instance has to be restarted)",
    cause=f"{_SERVICE} Amazon RDS takes settings from parameter groups.",
    example=_FORMAT,
)
AURORA_PARAMETER = ErrorCode(
    "S604",
    "in the parameter group of the DB cluster, set {name} to {value} (if it is static, the writer "
    "has to be restarted)",
    cause=f"{_SERVICE} Amazon Aurora takes settings of the log from the group of the cluster.",
    example=_FORMAT,
)
CLOUD_SQL_FLAG = ErrorCode(
    "S605",
    "gcloud sql instances patch INSTANCE --database-flags={name}={value} (name all flags of the "
    "instance there: others are removed)",
    cause=f"{_SERVICE} Cloud SQL takes settings from database flags.",
    example=_FORMAT,
)
AZURE_PARAMETER = ErrorCode(
    "S606",
    "az mysql flexible-server parameter set --resource-group GROUP --server-name SERVER --name "
    "{name} --value {value}",
    cause=f"{_SERVICE} Azure takes settings from server parameters.",
    example=_FORMAT,
)
RDS_LOG_BIN = ErrorCode(
    "S622",
    _WHAT,
    "let Amazon RDS make automated backups of this instance (a retention period of 1 day or more)",
    cause=f"{_NO_LOG} An instance of Amazon RDS writes one only if backups of it are made.",
    example=_LOG,
)
AURORA_LOG_BIN = ErrorCode(
    "S623",
    _WHAT,
    "in the parameter group of the DB cluster, set binlog_format to ROW, and restart the writer",
    cause=f"{_NO_LOG} By default, a cluster of Amazon Aurora has binlog_format = OFF.",
    example=_LOG,
)
AURORA_READER = ErrorCode(
    "S624",
    _WHAT,
    "this instance is a reader, and only the writer of the cluster has a binary log: set "
    "{source.host} to the cluster endpoint",
    cause="The instances of a cluster share their storage, so readers need no log.",
    example={"name": "innodb_read_only", "value": "ON", "wanted": "OFF"},
)
CLOUD_SQL_LOG_BIN = ErrorCode(
    "S625",
    _WHAT,
    "gcloud sql instances patch INSTANCE --enable-bin-log (the instance restarts)",
    cause=f"{_NO_LOG} Cloud SQL calls it point-in-time recovery, which needs automated backups.",
    example=_LOG,
)
RDS_RETENTION_HIDDEN = ErrorCode(
    "S626",
    _WHAT,
    "GRANT SELECT ON mysql.rds_configuration TO {account}; {how}",
    cause=(
        "Amazon RDS and Aurora keep the log as long as this setting says, and purge it within "
        "minutes without it. The account may not read it, and the variables of the server say "
        "nothing about it."
    ),
    example={
        "name": "binlog retention hours",
        "value": "not readable",
        "wanted": "24 or more",
        "account": "'cdc'@'%'",
        "how": "CALL mysql.rds_set_configuration('binlog retention hours', 168)",
    },
)
