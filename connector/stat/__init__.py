"""Counts of what binary logs hold."""
