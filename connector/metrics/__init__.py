"""What a running pipeline knows of itself, as figures that others can watch."""
