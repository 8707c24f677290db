"""Requests of users to a running pipeline: commands, and signals in Debezium's format."""
