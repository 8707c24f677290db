"""Compares a source's log with the topics of a pipeline: no record is missing, none is repeated."""
