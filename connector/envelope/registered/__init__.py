"""Keys and values in the formats of a schema registry: Avro, and JSON Schema."""
