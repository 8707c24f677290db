"""The configuration and the offsets of Debezium's connectors become those of a pipeline."""
