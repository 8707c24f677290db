"""Migration: converts the configuration and the offsets of Debezium's connectors."""
