"""A replication client: it finds the start, checks the server, and receives the binary log."""
