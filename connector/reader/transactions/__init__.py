"""Events of a log, of a file or a server, become transactions and changed rows."""
