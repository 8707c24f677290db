"""Our client of Kafka's protocol: transactions, fetches, and who leads and coordinates what."""
