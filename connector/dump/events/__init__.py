"""`dump --format events`: the rows of SHOW BINLOG EVENTS."""
