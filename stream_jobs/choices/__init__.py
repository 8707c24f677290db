"""What the settings choose for a table and for its columns."""
