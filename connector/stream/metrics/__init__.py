"""The metrics of a running pipeline, for monitoring."""
