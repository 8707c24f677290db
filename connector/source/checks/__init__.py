"""Settings and grants that a source must have."""
