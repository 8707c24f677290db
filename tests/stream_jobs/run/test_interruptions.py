"""After which failures of a query a job begins another one."""

from __future__ import annotations

from connector.foundation.errors.message import Message
from connector.kafka import connection_errors
from connector.kafka.folder import folder_errors
from stream_jobs.errors import job_errors
from stream_jobs.run.interruptions import Interruptions

LATE = Message(job_errors.WORKER_LATE, {})
AWAY = Message(job_errors.KAFKA_FAILED, {"servers": ["a:1"], "said": "gone"})


def test_a_process_that_is_always_late_ends_the_job_after_five_queries() -> None:
    seen = Interruptions(60.0)
    assert [seen.outlasts(LATE) for _ in range(6)] == [True] * 5 + [False]


def test_processes_that_are_late_are_counted_from_the_last_batch() -> None:
    seen = Interruptions(60.0)
    for _ in range(3):
        assert all(seen.outlasts(LATE) for _ in range(5))
        seen.end_batch()


def test_kafka_is_waited_for_by_a_job_that_has_reached_it() -> None:
    seen = Interruptions(60.0)
    assert not seen.outlasts(AWAY)
    seen.end_batch()
    assert seen.outlasts(AWAY)


def test_kafka_is_not_waited_for_longer_than_is_set() -> None:
    seen = Interruptions(0.0)
    seen.end_batch()
    assert not seen.outlasts(AWAY)


def test_a_log_is_not_waited_for_that_does_not_come_back_by_itself() -> None:
    seen = Interruptions(60.0)
    seen.end_batch()
    read_only = Message(folder_errors.READ_ONLY, {"folder": "/log"})
    full = Message(folder_errors.UNUSABLE, {"folder": "/log", "why": "No space left on device"})
    # Its certificate may be renewed.
    refused = Message(connection_errors.CERTIFICATE, {"why": "certificate has expired"})
    for said, is_waited_for in (read_only, False), (full, True), (refused, True):
        facts = {"servers": ["file:///log"], "said": said}
        assert seen.outlasts(Message(job_errors.KAFKA_FAILED, facts)) is is_waited_for


def test_other_failures_end_the_job() -> None:
    seen = Interruptions(60.0)
    seen.end_batch()
    assert not seen.outlasts(Message(job_errors.SPARK_FAILED, {"kind": "KeyError", "said": "7"}))
