"""SQL that undoes the row changes of a log."""
