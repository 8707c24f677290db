"""Compares a table of MySQL with a Delta table by Spark's `exceptAll`, in both directions.

    python spark_except.py CONFIG      a JSON document, see `benchmarks.verify_rivals`

It writes a line of JSON with the seconds, and the rows that only one side has.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use


def main() -> None:
    """Compare, and end."""
    config = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    builder = SparkSession.Builder().appName("except")
    for key, value in config["settings"].items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    began = time.monotonic()
    mirror = session.read.format("delta").load(config["mirror"]).select(config["columns"])
    reader = session.read.format("jdbc")
    for key, value in config["jdbc"].items():
        reader = reader.option(key, value)
    # JDBC has other types than the mirror for some of MySQL's.
    kinds = {field.name: field.dataType for field in mirror.schema.fields}
    source = reader.load().select([F.col(name).cast(kinds[name]) for name in config["columns"]])
    missing, surplus = source.exceptAll(mirror).count(), mirror.exceptAll(source).count()
    line = {
        "event": "compared",
        "seconds": round(time.monotonic() - began, 3),
        "missing": missing,
        "surplus": surplus,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    session.stop()


if __name__ == "__main__":
    main()
