"""Events become transactions of followed tables, without I/O."""
