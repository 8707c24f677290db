"""`verify --table`: tables that any program has made of tables of the source."""
