"""Each error of the mirror either sets its table aside or ends the job."""

from __future__ import annotations

from connector.foundation.errors.catalogue import codes
from connector.foundation.errors.code import Scope
from stream_jobs.cuts import cut_errors
from stream_jobs.errors import (
    delta_errors,
    job_errors,
    record_errors,
    setting_errors,
    shard_errors,
)
from stream_jobs.iceberg import catalog_errors, iceberg_errors

ENDS_THE_JOB = (
    job_errors.SPARK_FAILED,
    job_errors.SPARK_NOT_STARTED,
    job_errors.KAFKA_FAILED,
    job_errors.WORKER_LATE,
    job_errors.SCHEMA_HELD_UP,
    job_errors.SCHEMA_RECORD,
    job_errors.PROFILE,
    job_errors.SEQUENCE_BEYOND,
    job_errors.PATH_SCHEME,
    job_errors.AZURE_PATH,
    job_errors.INDEX_FOLDER,
    job_errors.HDFS_SCHEME,
    delta_errors.STORAGE_FAILED,
    delta_errors.COMMIT_CONFLICT,
    delta_errors.OVERWRITES,
    delta_errors.HDFS_LOGIN,
    delta_errors.NO_RIGHT,
    delta_errors.NO_LOGIN,
    setting_errors.NO_PIPELINES,
    setting_errors.SAME_PIPELINE_NAME,
    setting_errors.SAME_PREFIX,
    setting_errors.MIRRORS_OVERLAP,
    setting_errors.CHECKPOINTS_OVERLAP,
    setting_errors.SAME_LISTEN,
    setting_errors.OTHER_SPARK,
    setting_errors.NO_SALT,
    setting_errors.TWO_LAYOUTS,
    setting_errors.MIRROR_NAME,
    job_errors.OWN_FILE,
    job_errors.OTHER_OWNER,
    job_errors.TAKEN_OVER,
    job_errors.MIRROR_SHARED,
    job_errors.OWNER_ALONE,
    job_errors.SHARDS_DROPPED,
    job_errors.SHARDS_GONE,
    job_errors.NOT_SET_ASIDE,
    setting_errors.CUTS_TOO_LONG,
    setting_errors.NO_DELTA,
    setting_errors.CATALOG_URL,
    setting_errors.NAMESPACE,
    setting_errors.HALF_LOGIN,
    setting_errors.FOLDER_ON_CLUSTER,
    shard_errors.SHARD_PATTERN,
    shard_errors.SHARD_VALUE,
    shard_errors.SHARD_NAME,
    shard_errors.SHARD_CLUSTER,
    shard_errors.SHARD_REPLICA,
    shard_errors.SHARED_TABLES,
    shard_errors.SHARED_CATALOG,
    catalog_errors.UNUSABLE,
)
# They are no errors.
NEITHER = (
    job_errors.NO_MIRROR,
    job_errors.END_NOT_KEPT,
    setting_errors.NOT_REGISTERED,
    setting_errors.REGISTERED_ELSEWHERE,
    # Those of the command that removes shards.
    shard_errors.NOT_SHARED,
    shard_errors.NO_SUCH_PIPELINE,
    shard_errors.PIPELINE_RUNS,
    # No cuts, while the tables go on; and those of readers.
    cut_errors.NO_PROGRESS,
    cut_errors.SEVERAL,
    cut_errors.HELD_UP,
    cut_errors.NOT_COVERED,
    cut_errors.LOWER,
    cut_errors.NOT_A_GTID,
    cut_errors.PREFIX_MISSING,
    cut_errors.NO_CUT,
    cut_errors.TABLE_GONE,
    job_errors.END_NOT_KEPT,
    record_errors.NOT_DELETED,
    # The Delta table goes on, and so does the job.
    iceberg_errors.UNFIT,
    iceberg_errors.ELEMENTS_WITHOUT_ID,
    iceberg_errors.FOREIGN,
    iceberg_errors.CONFLICT,
    iceberg_errors.TURN_FAILED,
    # Nor does what the Iceberg tables of a catalog meet stop those by path.
    catalog_errors.AWAY,
    catalog_errors.LOGIN,
    catalog_errors.RIGHTS,
    catalog_errors.REFUSED,
    catalog_errors.TAKEN,
    catalog_errors.FOREIGN_COMMIT,
    catalog_errors.CONFLICT,
    catalog_errors.SIGNATURE,
    catalog_errors.CREDENTIALS,
    catalog_errors.CLOCK,
    catalog_errors.NO_NEW_TABLES,
)


def test_it_was_decided_for_each_code_what_it_concerns() -> None:
    # The replica is a process of its own, and stops for each error.
    known = {code for code in codes() if code.startswith("M") and not code.startswith("M9")}
    one_table = {code for code in known if codes()[code].scope is Scope.TABLE}
    others = {code.code for code in (*ENDS_THE_JOB, *NEITHER)}
    assert one_table | others == known
    assert not one_table & others
