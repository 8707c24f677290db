"""Changed rows as Arrow record batches."""
