"""`dump --format text`."""
