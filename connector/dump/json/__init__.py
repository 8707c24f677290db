"""`dump --format json`."""
