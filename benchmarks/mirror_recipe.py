"""The recipe that documents of Delta give: foreachBatch, from_json, row_number, MERGE.

    python mirror_recipe.py CONFIG      a JSON document, see `benchmarks.mirror`

It runs queries, one after the other. Of those that are told it writes a line of JSON for each
batch, as the job does, and one for each table of a batch: a long batch may be ended.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

KEY = "id"
ROW = (
    "id bigint, customer_id int, sku string, amount decimal(12,2), created_at timestamp_ntz, "
    "updated_at timestamp, attrs string, status string, score double, note string"
)


class Recipe:
    """The tables of one run."""

    def __init__(self, folder: str, *, is_told: bool) -> None:
        """Keep the tables in `folder`, each with the name of its topic."""
        self._folder = folder
        self._is_told = is_told
        self._made: set[str] = set()

    def apply(self, batch: DataFrame, batch_id: int) -> None:
        """Merge a batch of Kafka records, one table after the other."""
        began = time.monotonic()
        batch.persist()
        topics = [row[0] for row in batch.select("topic").distinct().collect()]
        for number, topic in enumerate(topics, 1):
            self._merge(batch.where(F.col("topic") == topic), topic)
            seconds = round(time.monotonic() - began, 3)
            self._tell({"event": "table_merged", "tables": number, "seconds": seconds})
        records = batch.count()
        batch.unpersist()
        self._tell(
            {
                "event": "batch_applied",
                "batch_id": batch_id,
                "records": records,
                "tables": len(topics),
                "seconds": round(time.monotonic() - began, 3),
            }
        )

    def _tell(self, line: dict[str, Any]) -> None:
        if self._is_told:
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

    def _merge(self, changes: DataFrame, table: str) -> None:
        session = changes.sparkSession
        envelope = f"before struct<{ROW}>, after struct<{ROW}>, op string"
        parsed = (
            changes.where("value is not null")
            .select(F.from_json(F.col("value").cast("string"), envelope).alias("e"), "offset")
            .select(F.coalesce("e.after", "e.before").alias("r"), "e.op", "offset")
            .select("r.*", "op", "offset")
        )
        newest_first = Window.partitionBy(KEY).orderBy(F.desc("offset"))
        latest = parsed.withColumn("n", F.row_number().over(newest_first)).where("n = 1")
        target = self._table(session, table)
        values: dict[str, Any] = {
            name: f"s.{name}" for name in parsed.columns if name not in ("op", "offset")
        }
        (
            target.alias("t")
            .merge(latest.drop("n", "offset").alias("s"), f"t.{KEY} = s.{KEY}")
            .whenMatchedDelete("s.op = 'd'")
            .whenMatchedUpdate(set=values)
            .whenNotMatchedInsert("s.op <> 'd'", values=values)
            .execute()
        )

    def _table(self, session: SparkSession, table: str) -> DeltaTable:
        path = f"{self._folder}/{table}"
        if path in self._made or DeltaTable.isDeltaTable(session, path):
            return DeltaTable.forPath(session, path)
        self._made.add(path)
        schema: StructType = session.createDataFrame([], ROW).schema
        builder = DeltaTable.createIfNotExists(session).location(path)
        return builder.addColumns(schema).execute()


def main() -> None:
    """Apply what is there, and end."""
    config = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    builder = SparkSession.Builder().appName("recipe")
    for key, value in config["settings"].items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for query in config["queries"]:
        stream = (
            session.readStream.format("kafka")
            .option("kafka.bootstrap.servers", config["bootstrap"])
            .option("subscribePattern", query["pattern"])
            .option("startingOffsets", query["starting"])
            .option("kafka.isolation.level", "read_committed")
            .option("maxOffsetsPerTrigger", config["max_offsets"])
            .load()
        )
        recipe = Recipe(config["mirror"], is_told=query["is_told"])
        (
            stream.writeStream.foreachBatch(recipe.apply)
            .option("checkpointLocation", query["checkpoint"])
            .trigger(availableNow=True)
            .start()
            .awaitTermination()
        )
    session.stop()


if __name__ == "__main__":
    main()
