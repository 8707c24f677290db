"""Topics become DataFrames: row topics as a stream, the schema topic as a table.

Both read with `read_committed`: records of aborted and of open Kafka transactions are not seen.

https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

from connector.contract import SCHEMA_TOPIC_SUFFIX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stream_jobs.settings import KafkaSettings


def row_topic_pattern(prefix: str) -> str:
    """Return the Java regular expression of `<prefix>.<database>.<table>`.

    Control topics (`<prefix>.schema`, `<prefix>.progress`) have one dot and do not match. Spark
    searches for a pattern anywhere in a topic's name, so it begins and ends with an anchor.
    """
    part = "[A-Za-z0-9_-]+"
    return rf"^{prefix}\.{part}\.{part}$"


def schema_topic(prefix: str) -> str:
    """Return the topic of schema records."""
    return f"{prefix}.{SCHEMA_TOPIC_SUFFIX}"


def read_rows(session: SparkSession, kafka: KafkaSettings) -> DataFrame:
    """Return the stream of row records.

    A new checkpoint begins at the first record of each topic, and so does a topic that is created
    later. If Kafka deleted records before they were read, the stream stops.
    """
    return (
        session.readStream.format("kafka")
        .options(**kafka.client_options())
        .option("subscribePattern", row_topic_pattern(kafka.topic_prefix))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", kafka.max_offsets_per_trigger)
        .option("includeHeaders", value=True)
        .option("failOnDataLoss", value=True)
        .load()
    )


def read_schema_values(session: SparkSession, kafka: KafkaSettings) -> list[bytes]:
    """Return the values in the schema topic, oldest first; none if the topic does not exist."""
    rows = (
        session.read.format("kafka")
        .options(**kafka.client_options())
        # A pattern may match nothing, but a topic that is named must exist.
        .option("subscribePattern", rf"^{kafka.topic_prefix}\.{SCHEMA_TOPIC_SUFFIX}$")
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .load()
        .where(F.col("value").isNotNull())
        .select("partition", "offset", "value")
        .collect()
    )
    rows.sort(key=lambda row: (row["partition"], row["offset"]))
    return [bytes(row["value"]) for row in rows]
