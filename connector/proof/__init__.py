"""Proves from the topics and the source's log that no record is missing or repeated."""
