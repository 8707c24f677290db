"""Copies of tables, read while the stream goes on and written between its transactions.

A row of a copy never comes behind a newer change of its key, for any consumer:

1. A chunk's *window* opens, between two source transactions: from now on the keys of the table's
   stream records are kept.
2. A reader waits until everything that the stream had delivered then is visible to a SELECT.
3. It reads the chunk, and then where the source's log ends.
4. Once the stream has delivered all up to that end, the rows are written whose keys were not kept.
   They did not change since the window opened; the others have been streamed in their newest state.

The rows stand behind all that was delivered, in the order of changes and in their partitions, and
are committed together with how far the copy is.
"""
