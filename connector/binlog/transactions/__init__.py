"""Events of a log, from a file or a server, become transactions and changed rows."""
