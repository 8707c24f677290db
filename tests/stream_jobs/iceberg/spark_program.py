"""Reads Iceberg tables by Spark, in an environment that has nothing but pyspark and pyarrow.

    spark_program.py JAR < requests > answers

A request is a line of JSON with `folder`, `snapshot` (null for the newest) and `file`, into which
the rows are written as an Arrow stream. An answer is a line of JSON: `null`, or an error's text.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Answer requests until there are no more."""
    # Spark writes to standard output, too.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import pyarrow as pa  # noqa: PLC0415 - it prints nothing from here on
    from pyspark.sql import SparkSession  # noqa: PLC0415

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", sys.argv[1])
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    for line in sys.stdin:
        request = json.loads(line)
        answer = None
        try:
            reader = session.read.format("iceberg")
            if request["snapshot"] is not None:
                reader = reader.option("versionAsOf", request["snapshot"])
            table = reader.load(request["folder"]).toArrow()
            with (
                pa.OSFile(request["file"], "wb") as file,
                pa.ipc.new_stream(file, table.schema) as stream,
            ):
                stream.write_table(table)
        except Exception as error:  # noqa: BLE001 - whoever asked says what it means
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), file=answers, flush=True)
    session.stop()


if __name__ == "__main__":
    main()
