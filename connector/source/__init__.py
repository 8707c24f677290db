"""I/O in: servers that changes are read from."""
