"""Each error of the mirror either sets its table aside or ends the job."""

from __future__ import annotations

from connector.foundation.errors import (
    mirror,
    mirror_choices,
    mirror_cuts,
    mirror_jobs,
    mirror_records,
    mirror_tables,
)
from connector.foundation.errors.catalogue import codes
from connector.foundation.errors.code import Scope

ENDS_THE_JOB = (
    mirror.SPARK_FAILED,
    mirror.SPARK_NOT_STARTED,
    mirror.KAFKA_FAILED,
    mirror.EXTRA,
    mirror.SCHEMA_HELD_UP,
    mirror.SCHEMA_RECORD,
    mirror.PROFILE,
    mirror.SEQUENCE_BEYOND,
    mirror.PATH_SCHEME,
    mirror.INDEX_FOLDER,
    mirror.S3_EXTRA,
    mirror.HDFS_SCHEME,
    mirror.HDFS_EXTRA,
    mirror_tables.STORAGE_FAILED,
    mirror_tables.COMMIT_CONFLICT,
    mirror_tables.OVERWRITES,
    mirror_tables.HDFS_LOGIN,
    mirror_choices.NO_SALT,
    mirror_choices.TWO_LAYOUTS,
    mirror_choices.MIRROR_NAME,
    mirror_jobs.OWN_FILE,
    mirror_jobs.OTHER_OWNER,
    mirror_jobs.TAKEN_OVER,
    mirror_jobs.NOT_SET_ASIDE,
    mirror_cuts.CUTS_TOO_LONG,
)
# They only say where another error happened, or are no errors.
NEITHER = (
    mirror_records.RECORD_WITHOUT_SEQUENCE,
    mirror_records.RECORD,
    mirror_records.ADVISED_RECORD,
    mirror.NO_MIRROR,
    mirror_jobs.END_NOT_KEPT,
    mirror_choices.NOT_REGISTERED,
    mirror_choices.REGISTERED_ELSEWHERE,
    # No cuts, while the tables go on; and those of readers.
    mirror_cuts.NO_PROGRESS,
    mirror_cuts.SEVERAL,
    mirror_cuts.HELD_UP,
    mirror_cuts.NOT_COVERED,
    mirror_cuts.NOT_A_GTID,
    mirror_cuts.NO_CUT,
    mirror_cuts.TABLE_GONE,
    mirror_jobs.END_NOT_KEPT,
)


def test_it_was_decided_for_each_code_what_it_concerns() -> None:
    # The replica is a process of its own, and stops for each error.
    known = {code for code in codes() if code.startswith("M") and not code.startswith("M9")}
    one_table = {code for code in known if codes()[code].scope is Scope.TABLE}
    others = {code.code for code in (*ENDS_THE_JOB, *NEITHER)}
    assert one_table | others == known
    assert not one_table & others
