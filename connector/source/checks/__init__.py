"""What a source must have."""
