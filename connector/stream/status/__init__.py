"""The status of a pipeline: one model, which a page and a terminal show."""
