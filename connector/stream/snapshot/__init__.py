"""Copies of tables, read while the stream continues and written between its transactions.

For every consumer, no row of a copy comes after a newer change of its key:

1. A chunk's *window* opens, between two source transactions: from now on, the keys of the table's
   stream records are kept.
2. A reader waits until a SELECT sees everything that the stream had delivered by then.
3. It reads the chunk, and then the end of the source's log.
4. When the stream has delivered everything up to that end, the rows are written whose keys were
   not kept. They did not change since the window opened; the others were streamed in their newest
   state.

In the order of changes and in their partitions, the rows come after everything that was delivered.
They are committed together with the state of the copy.
"""
