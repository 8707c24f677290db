"""The columns of tables, in the form for consumers."""
