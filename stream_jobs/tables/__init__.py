"""The mirror of each table: its state, and the work of a batch for it."""
