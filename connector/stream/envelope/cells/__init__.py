"""Single values as JSON: their writers, and the readers of the cells of a SELECT."""
