"""Kafka: what there is to read, and the records of ranges of offsets."""
