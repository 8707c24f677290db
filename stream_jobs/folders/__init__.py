"""Folders: of a mirror, and those that only the user may read."""
