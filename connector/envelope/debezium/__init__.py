"""Values as Debezium's MySQL and MariaDB connectors write them, with the defaults of its options.

A value comes as the text that the server prints, or as stored bytes; one class for each form of
JSON takes it from the log, from a SELECT, or from a decoded value.
"""
