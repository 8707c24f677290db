"""The replication conversation, without I/O: commands, responses, the stream of events."""
