"""The first load: the Spark job reads the rows of tables from the source itself."""
