"""Bodies of events, one family a file."""
