"""Transactions become Kafka records, without I/O."""
