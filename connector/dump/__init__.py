"""Events become the lines of the `dump` command."""
