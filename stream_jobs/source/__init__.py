"""Kafka: the client, the stream of offset ranges, and the form of the connector's records."""
