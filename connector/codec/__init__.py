"""Bytes without meaning: a cursor, digits, JSON strings."""
