"""What every format of a dump makes, and how it gets into a file: lines."""
