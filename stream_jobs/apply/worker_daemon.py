"""The process from which Spark forks its Python workers: it has imported what tasks need.

A worker then starts at once, and all of them share the memory of the modules. Spark runs this
module instead of its own daemon (`spark.python.daemon.module`), with the name of a module for the
worker; for its helpers, too, which get Spark's daemon as it is.
"""

import os
import sys

from pyspark import daemon

if __name__ == "__main__":
    if sys.argv[1:] == ["pyspark.worker"]:
        # No thread may run when a process is forked, and NumPy starts some for work that no task
        # has.
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        import pyspark.worker  # noqa: F401

        import stream_jobs.apply.task  # noqa: F401
        from stream_jobs.apply.garbage import collect_garbage_rarely

        collect_garbage_rarely(is_worker=True)
    daemon.manager()
