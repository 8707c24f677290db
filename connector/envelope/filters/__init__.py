"""Rows that have no records: conditions on their columns."""
