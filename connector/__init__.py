"""Streams every change of a MySQL or MariaDB server into Kafka."""

from connector.foundation import compiled

# Before any other module is imported: it decides what is imported.
compiled.apply_choice()
