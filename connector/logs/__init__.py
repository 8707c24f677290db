"""The commands that read logs: `dump`, `stat` and `flashback`.

::

    inputs (files, a server) ──▶ selection ──▶ dump/      lines
    recovery of damaged logs                   statistics counts
                                               flashback/ SQL
"""
