"""What every package uses and what uses none of them: names, record batches, settings, errors."""
