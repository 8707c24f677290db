"""What a server tells about its tables."""
