"""`dump --format envelope`."""
