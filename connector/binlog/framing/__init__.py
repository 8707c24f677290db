"""The header and the checksum of every event, and the format of a log."""
