"""The checkpoint of the streaming query, in which Spark keeps its offsets.

The tables hold their own offsets, so a new checkpoint loses nothing, and one that Spark could not
begin with is deleted. There are two kinds. A query whose checkpoint is deleted while it runs goes
on, and writes its next batches into a new folder without the file `metadata`. And Spark does not
wait until local files are on the disk, so the newest ones may be empty or zeros after a loss of
power.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped] # it has no types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def delete_unusable_checkpoint(session: SparkSession, checkpoint: str) -> None:
    """Delete the folder `checkpoint`, a path or a URI of Hadoop, if no query can begin with it."""
    # PySpark has no other way to a file system of Hadoop, nor to the files of a checkpoint.
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001
    hadoop: Any = session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    path = jvm.org.apache.hadoop.fs.Path(checkpoint)
    files = path.getFileSystem(hadoop)
    if files.exists(path) and not _is_usable(session, files, path):
        files.delete(path, True)


def _is_usable(session: SparkSession, files: Any, path: Any) -> bool:
    """Read by Spark's own classes what a query reads at its start."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001
    streaming = jvm.org.apache.spark.sql.execution.streaming
    metadata = jvm.org.apache.hadoop.fs.Path(path, "metadata")
    if not files.exists(metadata):
        return False
    own: Any = session._jsparkSession  # noqa: SLF001
    try:
        streaming.runtime.StreamMetadata.read(metadata, own.sessionState().newHadoopConf())
        offsets = streaming.checkpointing.OffsetSeqLog(own, f"{path}/offsets", True)
        streaming.checkpointing.CommitLog(own, f"{path}/commits", True).getLatest()
        newest = offsets.getLatest()
        number = newest.get()._1() if newest.isDefined() else 0  # noqa: SLF001  # of a Scala tuple
        return number == 0 or bool(offsets.get(number - 1).isDefined())
    except Py4JJavaError:
        return False
