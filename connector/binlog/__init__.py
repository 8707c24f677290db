"""Binlog payloads become events, without I/O; the code here cannot tell a file from a server."""
