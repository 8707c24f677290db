"""I/O in: the servers that the connector reads."""
