"""Binlog payloads become events, without I/O; nothing here can tell a file from a server."""
