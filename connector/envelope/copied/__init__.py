"""Rows of SELECTs become the same JSON."""
