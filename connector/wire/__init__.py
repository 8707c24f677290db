"""The replication conversation, without I/O: commands, responses, packet framing."""
