"""Delta tables, read and written without Spark.

A table is a folder with Parquet files and a log of commits in `_delta_log`; one JSON file for each
commit, with actions such as `add` and `remove`. The state of a table is what its actions sum up to.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""
