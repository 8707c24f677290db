"""Single values as JSON: from cells of the log, from cells of a SELECT, and from Python values."""
