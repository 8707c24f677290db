"""The work of one Spark task, without Spark: records become rows of data files."""
