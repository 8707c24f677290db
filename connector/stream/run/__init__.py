"""`run`: one pipeline from a source to Kafka, and a new one after an error."""
