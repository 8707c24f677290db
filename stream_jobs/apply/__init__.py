"""The work of one Spark task, without Spark: it turns records into rows of data files."""
