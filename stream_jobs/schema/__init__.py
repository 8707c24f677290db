"""Column lists, types and sequences, without I/O."""
