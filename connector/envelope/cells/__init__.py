"""The forms of single values: from cells of the log, from cells of a SELECT, and from values."""
