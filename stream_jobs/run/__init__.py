"""The job: its batches, its Spark session, its status lines and metrics, and its commands."""
