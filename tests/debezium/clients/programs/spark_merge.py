"""The recipe that documents of Spark give for Debezium's records: from_json, row_number, MERGE.

    spark_merge.py CONFIG < statements > answers

CONFIG is JSON: the `settings` of Spark, `bootstrap` and `topic`, `checkpoint`, the `row` that
records have and the `columns` of the table in SQL, the `table` and where it lies (`place`). The
table follows the topic until there are no more statements. A statement of SQL is a line, its answer
a line of JSON with its rows. It runs in an environment that may have nothing but pyspark.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use


def merge(batch: DataFrame, config: dict[str, Any]) -> None:
    """Apply a batch of Kafka's records: the last one of each key."""
    envelope = f"before struct<{config['row']}>, after struct<{config['row']}>, op string"
    changes = (
        batch.where("value IS NOT NULL")
        .select(F.from_json(F.col("value").cast("string"), envelope).alias("e"), "offset")
        .select(F.coalesce("e.after", "e.before").alias("r"), "e.op", "offset")
        .select("r.*", "op", "offset")
    )
    newest_first = Window.partitionBy("id").orderBy(F.desc("offset"))
    latest = changes.withColumn("n", F.row_number().over(newest_first)).where("n = 1")
    latest.selectExpr(*config["columns"], "op").createOrReplaceTempView("changes")
    batch.sparkSession.sql(
        f"""
        MERGE INTO {config["table"]} t USING changes s ON t.id = s.id
        WHEN MATCHED AND s.op = 'd' THEN DELETE
        WHEN MATCHED THEN UPDATE SET *
        WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT *
        """
    )


def make_table(session: SparkSession, config: dict[str, Any]) -> None:
    """Make the table that has the columns."""
    rows = session.range(0).select(F.from_json(F.lit(""), config["row"]).alias("r"))
    fields = rows.select("r.*").selectExpr(*config["columns"]).schema.fields
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)
    session.sql(f"CREATE TABLE IF NOT EXISTS {config['table']} ({columns}) {config['place']}")


def main() -> None:
    """Follow the topic, and answer."""
    # Spark writes to standard output, too.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    config = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    builder = SparkSession.Builder().appName("recipe")
    for key, value in config["settings"].items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    make_table(session, config)
    query = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", config["bootstrap"])
        .option("subscribe", config["topic"])
        .option("startingOffsets", "earliest")
        .load()
        .writeStream.foreachBatch(lambda batch, _: merge(batch, config))
        .option("checkpointLocation", config["checkpoint"])
        .start()
    )
    for statement in sys.stdin:
        if (error := query.exception()) is not None:
            raise error
        rows = [list(row) for row in session.sql(statement).collect()]
        print(json.dumps(rows), file=answers, flush=True)
    query.stop()
    session.stop()


if __name__ == "__main__":
    main()
