"""Records to Kafka: transactions, topics and their limits, and what earlier runs committed."""
