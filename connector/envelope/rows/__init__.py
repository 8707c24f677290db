"""Rows of events become JSON."""
