"""Compares tables of the source with their mirrors, row by row, while both change."""
