"""The figures of a running pipeline, for monitoring."""
