"""Events become transactions, without I/O."""
