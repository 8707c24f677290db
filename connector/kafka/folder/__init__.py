"""A log in a folder, which answers like a broker: no Kafka is needed on one machine."""
