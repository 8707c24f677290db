"""The lines that every format of a dump makes, and their way into a file."""
