"""The daemon: changes of a server become records in Kafka, each exactly once."""
