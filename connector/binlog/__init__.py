"""The parser of binary logs: bytes become events, transactions, changed rows and Arrow batches.

Only `files` does I/O; everything else cannot tell a file from a server. With
`connector.foundation`, this package is a library of its own.
"""
