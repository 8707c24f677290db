"""PySpark: changes in Kafka become Delta tables."""
