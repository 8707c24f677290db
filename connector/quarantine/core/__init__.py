"""Kept changes, their records, and how records become changes again; without I/O."""
