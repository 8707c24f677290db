"""M600: the job that a mirror belongs to, and tables that are set aside."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_MIRROR = "/data/mirror"

OWN_FILE = ErrorCode(
    "M601",
    "{path} is not a file that this job has written",
    "look at it; if another program wrote it, remove it",
    end=End.FAILED,
    cause="The folder _cdc of a mirror has the job's own files: owner, cuts, and tables set aside.",
    example={"path": f"{_MIRROR}/_cdc/quarantine/shop.erp.orders.json"},
)
OTHER_OWNER = ErrorCode(
    "M602",
    "the mirror at {path} belongs to the job {owner}, which reads the topics {prefix}.* (last "
    "started as process {pid} on {host})",
    (
        "give this job another mirror.path; if it replaces the job {owner} for good, remove the "
        "folder {path}/_cdc/owner first"
    ),
    cause="Two jobs with different names or topics must not write to the same tables.",
    example={
        "path": _MIRROR,
        "owner": "shop",
        "prefix": "shop",
        "pid": 4711,
        "host": "spark-1",
    },
)
TAKEN_OVER = ErrorCode(
    "M603",
    "process {pid} on {host} took over the mirror at {path}; this one ends",
    "run one job for each mirror; what this one has committed stays",
    cause="Another job with the same name was started, and the newest one goes on.",
    example={"path": _MIRROR, "pid": 4711, "host": "spark-1"},
)
NOT_SET_ASIDE = ErrorCode(
    "M604",
    "{table} is not set aside",
    "`binlog-connector-mirror status {config}` shows the tables that are",
    end=End.CONFIGURATION,
    cause="Only a table that cannot go on can be resumed.",
    example={"table": "erp.orders", "config": "stream_job.toml"},
)
END_NOT_KEPT = ErrorCode(
    "M605",
    "the mirror does not know how this run has ended: {why}",
    end=End.LOGGED,
    cause=(
        "The job keeps the reason of its end in the mirror, in the file `_cdc/run/newest.json`, "
        "for `binlog-connector-mirror status`. That could not be written; the log has the reason."
    ),
    example={"why": "/data/mirror/_cdc/run/newest.json: No space left on device"},
)
