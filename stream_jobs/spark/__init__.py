"""The Spark session, and what makes it start fast."""
