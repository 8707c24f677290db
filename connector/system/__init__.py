"""The operating system: its clock and its signals."""
