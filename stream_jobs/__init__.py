"""The Spark job: it applies the changes in Kafka to Delta tables."""
