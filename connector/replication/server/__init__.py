"""One server: sessions, errors, its logs, and the servers that it replicates from."""
