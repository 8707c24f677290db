"""A dump: the request, its events, and searches in the log."""
