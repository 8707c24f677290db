"""Column values, one file per family."""
