"""The columns of tables, as consumers see them: types, keys, masks, defaults, schema records."""
