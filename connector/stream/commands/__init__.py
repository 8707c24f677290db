"""What users ask of a running pipeline: requests, and signals of Debezium."""
