"""Runs tasks: as Spark jobs, and small ones in the driver.

A Spark job costs the same however little it does: the scheduler of the JVM, two Python workers, and
what is packed for them and unpacked again. A batch of a few hundred records takes less time in the
driver itself. On a cluster, where tasks belong on the executors, and where many pipelines share
this process and its one interpreter lock, Spark runs all of them.
"""

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pyspark.sql import SparkSession

from stream_jobs.apply.task import run_task, run_worker_task
from stream_jobs.apply.task_messages import PartResult, Task
from stream_jobs.load.loader import RangeRunner
from stream_jobs.load.range_task import RangeJob, RangeResult, load_range
from stream_jobs.run.spark_session import is_on_this_machine
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.table_work import Runner
from stream_jobs.tables.task_plan import records_of

# Which pool the jobs of a thread belong to. https://spark.apache.org/docs/latest/job-scheduling.html
SCHEDULER_POOL: Final = "spark.scheduler.pool"

# A task of a table takes some milliseconds, and a thousand records as long again. With more, two
# cores are faster than the driver alone.
_TABLES_MAX: Final = 8
_RECORDS_MAX: Final = 2_000


def task_runner(session: SparkSession, client: KafkaClient) -> Runner:
    """Return a function that runs the tasks of a batch; in the driver, they use its `client`."""
    context = session.sparkContext
    is_alone = context.getLocalProperty(SCHEDULER_POOL) is None
    may_run_here = is_alone and is_on_this_machine(session)

    def run(tasks: Sequence[Task]) -> list[PartResult]:
        small = small_task(tasks) if may_run_here else None
        if small is not None:
            return run_task(small, client)
        by_task = context.parallelize(tasks, len(tasks)).map(run_worker_task).collect()
        return [result for results in by_task for result in results]

    return run


def small_task(tasks: Sequence[Task]) -> Task | None:
    """Return all work as one task if it is few records of few tables, and no file to rewrite."""
    if any(task.rewritten or task.compacted for task in tasks):
        return None
    parts = [part for task in tasks for part in task.parts]
    if len(parts) > _TABLES_MAX or sum(map(records_of, parts)) > _RECORDS_MAX:
        return None
    # Tables of so few records are not split, so each has one part.
    return tasks[0].doing(parts=tuple(parts))


def start_workers(session: SparkSession) -> threading.Thread:
    """Let Spark start the Python workers of the first batch while the stream starts.

    A failure says nothing here: the first batch meets it again.
    """
    context = session.sparkContext
    cores = context.defaultParallelism

    def run() -> None:
        with suppress(Exception):
            context.parallelize(range(cores), cores).map(_import_task).collect()

    thread = threading.Thread(target=run, name="start-workers", daemon=True)
    thread.start()
    return thread


def _import_task(number: int) -> int:
    """Run in a worker: to find this function, it has imported what tasks need."""
    return number


def range_runner(session: SparkSession) -> RangeRunner:
    """Return a function that reads a range in a Spark job of one task, from any thread.

    If the pipeline of this thread has a pool of Spark's scheduler, its loads have another one, so
    that its batches get their share of the cores beside them.
    """
    context = session.sparkContext
    pool = context.getLocalProperty(SCHEDULER_POOL)

    def run(job: RangeJob) -> RangeResult:
        if pool is not None:
            context.setLocalProperty(SCHEDULER_POOL, f"{pool}: first load")
        (result,) = context.parallelize([job], 1).map(load_range).collect()
        return result

    return run
