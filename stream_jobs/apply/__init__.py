"""Records become the rows of data files: the work of one Spark task, without Spark."""
