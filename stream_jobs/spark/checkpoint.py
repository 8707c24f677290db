"""Drops what is left of a checkpoint that was deleted while a query ran.

Spark writes the file `metadata` when a checkpoint begins, and then a file for each batch. A query
whose checkpoint is deleted goes on, and writes its next batches into a new folder. The next query
would look there for the batch before them, and fail. The tables hold their own offsets, so a new
checkpoint loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def drop_remains(session: SparkSession, checkpoint: str) -> None:
    """Delete the folder `checkpoint`, a path or a URI of Hadoop, if it has lost its beginning."""
    # PySpark has no other way to a file system of Hadoop.
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001
    hadoop: Any = session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    path = jvm.org.apache.hadoop.fs.Path(checkpoint)
    files = path.getFileSystem(hadoop)
    if files.exists(path) and not files.exists(jvm.org.apache.hadoop.fs.Path(path, "metadata")):
        files.delete(path, True)
