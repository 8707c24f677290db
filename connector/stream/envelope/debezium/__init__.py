"""The profile `debezium`: values, row filters and registry formats as in Debezium.

Values are written as by Debezium's MySQL and MariaDB connectors, with the defaults of its options.
A value comes as the text that the server prints, or as stored bytes; one class for each form of
JSON takes it from the log, from a SELECT, or from a decoded value.
"""
