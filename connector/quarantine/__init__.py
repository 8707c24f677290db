"""Changes that cannot be carried: kept as the log has them, until they can."""
