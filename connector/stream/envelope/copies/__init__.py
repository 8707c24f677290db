"""Rows of SELECTs become the same JSON as rows of events."""
