"""Kafka's records, without I/O: their bytes, their partitions, their batches."""
