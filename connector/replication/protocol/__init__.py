"""The replication protocol, without I/O: commands, responses, the stream of events."""
