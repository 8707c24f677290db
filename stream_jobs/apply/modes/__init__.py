"""What a mirror holds of its table: one class for each mode.

A mode says which columns a mirror has besides those of the source, and how changes become rows that
are added, and rows that die. `stream_jobs.apply.modes.choice` finds the mode of a name.
"""
