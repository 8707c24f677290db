"""Private MySQL, MariaDB, Kafka and Java without Docker, for the demo and the tests."""
