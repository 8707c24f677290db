"""Streams every change of a MySQL or MariaDB server into Kafka."""
