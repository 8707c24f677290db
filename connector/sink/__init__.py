"""I/O out: where records are written."""
