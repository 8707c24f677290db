"""What is in binary logs, counted."""
