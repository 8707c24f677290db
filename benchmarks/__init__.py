"""How fast the connector is, beside the programs that do the same work: `make bench`.

Everything is measured in one go, on one machine, on the same bytes, and each measurement is a
process of its own. `BENCHMARKS.md` is what the last run on record wrote.

====================  ============================================================================
`workload/`           the data: SQL for a private MySQL, whose binlogs are kept in the cache
`rivals/`             programs around other people's decoders, built where their tool chain is there
`ours.py`             the same program around ours
`decode.py`           one core, from file: events, values, Arrow, envelope
`replay.py`           end to end: a server's binlogs through a connector into a broker
`rounds.py`           a warm-up of each program, and then turns
`live.py`             latency, start, idle costs
`memory.py`           memory over ten million rows
`large.py`            memory over one transaction of ten million rows, and one event of 512 MiB
`mirror.py`           Delta tables that follow topics, beside the recipe of Delta's documentation
`targets.py`          what has to be reached, and whether it was
`report.py`           BENCHMARKS.md
`performance_page.py` the tables of docs/performance.md
====================  ============================================================================
"""
