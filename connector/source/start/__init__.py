"""The start of a stream, and whether a server has everything after it."""
