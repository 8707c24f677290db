"""SQL that is the same in every run: rows from seeded generators, statements in a fixed order."""
