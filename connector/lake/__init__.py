"""A lake: a folder of tables that follow a source, with the two programs that keep them so."""
