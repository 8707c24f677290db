"""The columns of tables, as consumers see them."""
